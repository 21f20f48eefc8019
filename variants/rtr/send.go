package rtr

import (
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/variants"
)

// The sending side of thesis 3.2.3 and 3.2.4, and of 3.4.2.

// send is a posted send that no RTR, CTS or Ack has matched. An eager one may
// have completed for its caller: then it has no request any more.
type send struct {
	tag     int32
	number  uint32
	r       *variants.Request
	long    bool // its RTS is out; else its EnvD
	matched bool // by an RTR, and waits for a CTS

	link variants.Link[send]
}

func (d *dest) find(w *workcount.Count, number uint32) *send {
	for s := d.posted.First(); s != nil; s = s.link.Next() {
		w.Searched++
		if s.number == number {
			return s
		}
	}
	return nil
}

func (d *dest) push(s *send) {
	if s.r != nil {
		s.r.Queued = true
	}
	d.posted.Push(&s.link, s)
}

func (d *dest) remove(s *send) {
	if s.r != nil {
		s.r.Queued = false
	}
	d.posted.Remove(&s.link)
}

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.eager(ctx, dst, tag, buf, false)
}

func (p *Protocol) eager(ctx *variants.Context, dst, tag int32, buf []byte, copied bool) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comms.Of(ctx)
	d := p.dest(c, dst)
	number := p.next()
	p.Done.Objects++ // in the thesis it is there before the message leaves
	if !p.Out.Eager(d.peer, c.Envelope(variants.EnvD, tag, number), buf, copied) {
		return false
	}
	if _, ok := d.take(&p.Done, tag); !ok {
		d.push(&send{tag: tag, number: number})
	}
	return true
}

// PostSend implements variants.Protocol.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	d := p.dest(c, r.Peer)
	p.Begin(r)
	if d.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	if r.Mode == variants.Standard && r.Len() <= p.Limit() && p.eager(r.Ctx, r.Peer, r.Tag, r.Buf, true) {
		p.Complete(r, nil)
		return
	}
	r.Ticket = p.next()
	if a, ok := d.take(&p.Done, r.Tag); ok {
		p.Count.FastReceives++
		p.fast(c, d.peer, r, a)
		return
	}
	s := &send{tag: r.Tag, number: r.Ticket, r: r}
	d.push(s)
	if r.Len() <= p.Limit() {
		if r.Mode == variants.Synchronous && p.Out.Eager(d.peer, c.Envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf,
			true) {
			p.Await(d.peer)
			return
		}
		p.Count.NoCredit++
		p.Await(d.peer)
	}
	s.long = true
	p.Out.Control(d.peer, c.Envelope(variants.RTS, r.Tag, r.Ticket), uint64(r.Len()))
}

// fast sends to a receive that was advertised before the send was posted.
func (p *Protocol) fast(c *comm, peer *variants.Peer, r *variants.Request, a rtr) {
	switch {
	case r.Len() <= p.Limit():
		p.Out.Insist(peer, c.Envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf)
		p.Complete(r, nil)
	case r.Len() > a.Capacity:
		// The Env alone tells the receiver that the message is too long.
		p.Out.Control(peer, c.Envelope(variants.Env, r.Tag, a.number), uint64(r.Len()))
		p.Complete(r, nil)
	case p.elide:
		// The notification is the envelope. Until it is delivered no later
		// message may leave, or it could match this receive (thesis fig. 3.20).
		p.WriteAlone(peer, r, a.Room)
	default:
		p.Out.Control(peer, c.Envelope(variants.Env, r.Tag, a.number), uint64(r.Len()))
		p.Write(peer, r, a.Room, false)
	}
}

// take returns the oldest advertised receive that takes a tag.
func (d *dest) take(w *workcount.Count, tag int32) (rtr, bool) {
	for i, a := range d.rtrs {
		w.Searched++
		if a.tag == tag || a.tag == variants.AnyTag {
			d.rtrs = append(d.rtrs[:i], d.rtrs[i+1:]...)
			return a, true
		}
	}
	return rtr{}, false
}

// onRTR takes the advertisement of a receive: for the oldest send that it
// takes, or for one to come.
func (p *Protocol) onRTR(c *comm, e variants.Envelope, payload []byte) {
	d := p.dest(c, e.Src)
	a := rtr{variants.RoomOf(payload), e.Ticket, e.Tag}
	for s := d.posted.First(); s != nil; s = s.link.Next() {
		p.Done.Searched++
		if s.matched || a.tag != s.tag && a.tag != variants.AnyTag {
			continue
		}
		if s.long && s.r.Len() <= a.Capacity && a.Capacity <= p.Limit() {
			s.matched = true // a short send without credit: its receive is exposed when the RTS has come, by a CTS
			return
		}
		d.remove(s)
		switch {
		case s.long:
			p.Cleared(d.peer, s.r, a.Room)
		case s.r != nil:
			p.Complete(s.r, nil) // synchronous
		}
		return
	}
	d.rtrs = append(d.rtrs, a)
	p.Done.Objects++
}

func (p *Protocol) onCTS(c *comm, e variants.Envelope, payload []byte) {
	d := p.dest(c, e.Src)
	if s := d.find(&p.Done, e.Ticket); s != nil {
		d.remove(s)
		p.Cleared(d.peer, s.r, variants.RoomOf(payload))
	}
}

func (p *Protocol) onAck(c *comm, e variants.Envelope) {
	d := p.dest(c, e.Src)
	if s := d.find(&p.Done, e.Ticket); s != nil {
		d.remove(s)
		if s.r != nil {
			p.Complete(s.r, nil)
		}
	}
}

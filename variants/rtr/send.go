package rtr

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// The sending side of thesis 3.2.3 and 3.2.4, and of 3.4.2.

// send is a posted send that no RTR, CTS or Ack has matched. An eager one may
// have completed for its caller: then it has no request any more.
type send struct {
	tag    int32
	number uint32
	r      *variants.Request
	long   bool // its RTS is out; else its EnvD

	next, prev *send
}

// sends is a FIFO of posted sends.
type sends struct{ head, tail *send }

func (q *sends) push(s *send) {
	s.prev = q.tail
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.next = s
	}
	q.tail = s
}

func (q *sends) remove(s *send) {
	if s.prev == nil {
		q.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.next, s.prev = nil, nil
	if s.r != nil {
		s.r.Queued = false
	}
}

func (q *sends) find(number uint32) *send {
	for s := q.head; s != nil; s = s.next {
		if s.number == number {
			return s
		}
	}
	return nil
}

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.eager(ctx, dst, tag, buf, false)
}

func (p *Protocol) eager(ctx *variants.Context, dst, tag int32, buf []byte, copied bool) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comm(ctx.ID)
	number := p.next()
	if !p.Out.Eager(p.peer(c, dst), c.envelope(variants.EnvD, tag, number), buf, copied) {
		return false
	}
	d := c.dest(dst)
	if _, ok := d.take(tag); !ok {
		d.posted.push(&send{tag: tag, number: number})
	}
	return true
}

// Crowded implements variants.Protocol.
func (p *Protocol) Crowded(ctx *variants.Context, dst, tag int32, n int) bool {
	if n > p.Limit() {
		return false
	}
	peer := p.peer(p.comm(ctx.ID), dst)
	return !peer.Failed && !p.Out.OutOfCredit(peer, n)
}

// PostSend implements variants.Protocol.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comm(r.Ctx.ID)
	peer := p.peer(c, r.Peer)
	d := c.dest(r.Peer)
	p.Begin(r)
	if peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	if r.Mode == variants.Standard && p.eager(r.Ctx, r.Peer, r.Tag, r.Buf, true) {
		p.Complete(r, nil)
		return
	}
	r.Ticket = p.next()
	if a, ok := d.take(r.Tag); ok {
		p.Count.FastReceives++
		p.fast(c, peer, r, a)
		return
	}
	s := &send{tag: r.Tag, number: r.Ticket, r: r}
	r.Queued = true
	d.posted.push(s)
	if len(r.Buf) <= p.Limit() {
		if r.Mode == variants.Synchronous && p.Out.Eager(peer, c.envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf, true) {
			return
		}
		p.Count.NoCredit++
	}
	s.long = true
	p.Out.Control(peer, c.envelope(variants.RTS, r.Tag, r.Ticket), uint64(len(r.Buf)))
}

// fast sends to a receive that was advertised before the send was posted.
func (p *Protocol) fast(c *comm, peer *variants.Peer, r *variants.Request, a rtr) {
	switch {
	case len(r.Buf) <= p.Limit():
		p.Out.Insist(peer, c.envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf)
		p.Complete(r, nil)
	case len(r.Buf) > a.capacity:
		// The Env alone tells the receiver that the message is too long.
		p.Out.Control(peer, c.envelope(variants.Env, r.Tag, a.number), uint64(len(r.Buf)))
		p.Complete(r, nil)
	case p.elide:
		// The notification is the envelope. Until it is delivered no later
		// message may leave, or it could match this receive (thesis fig. 3.20).
		p.WriteAlone(peer, r, a.window, a.capacity)
	default:
		p.Out.Control(peer, c.envelope(variants.Env, r.Tag, a.number), uint64(len(r.Buf)))
		p.Write(peer, r, a.window, a.capacity, false)
	}
}

// take returns the oldest advertised receive that takes a tag.
func (d *dest) take(tag int32) (rtr, bool) {
	for i, a := range d.rtrs {
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
	d := c.dest(e.Src)
	a := rtr{number: e.Ticket, tag: e.Tag, capacity: int(variants.Word(payload, 2)),
		window: rdmaeng.Window{Addr: variants.Word(payload, 0), Notify: variants.Word(payload, 1)}}
	for s := d.posted.head; s != nil; s = s.next {
		if a.tag != s.tag && a.tag != variants.AnyTag {
			continue
		}
		d.posted.remove(s)
		switch {
		case s.long:
			p.granted(d, s.r, a)
		case s.r != nil:
			p.Complete(s.r, nil) // synchronous
		}
		return
	}
	d.rtrs = append(d.rtrs, a)
}

// granted carries on a long send whose RTS is out.
func (p *Protocol) granted(d *dest, r *variants.Request, a rtr) {
	if len(r.Buf) > a.capacity {
		p.Complete(r, nil) // the receiver knows from the RTS that it is too long
		return
	}
	p.Write(d.peer, r, a.window, a.capacity, true)
}

func (p *Protocol) onCTS(c *comm, e variants.Envelope, payload []byte) {
	d := c.dest(e.Src)
	if s := d.posted.find(e.Ticket); s != nil {
		d.posted.remove(s)
		p.granted(d, s.r, rtr{capacity: int(variants.Word(payload, 2)),
			window: rdmaeng.Window{Addr: variants.Word(payload, 0), Notify: variants.Word(payload, 1)}})
	}
}

func (p *Protocol) onAck(c *comm, e variants.Envelope) {
	d := c.dest(e.Src)
	if s := d.posted.find(e.Ticket); s != nil {
		d.posted.remove(s)
		if s.r != nil {
			p.Complete(s.r, nil)
		}
	}
}

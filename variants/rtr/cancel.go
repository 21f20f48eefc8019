package rtr

import "github.com/exanet-mpi/exanet/variants"

// Cancelling. A receive that is advertised can be taken back only while its RTR
// is unmatched at the sender, and a send only while its message is unexpected at
// the receiver; so the other side is asked. Whoever has matched the request
// refuses, and the request completes. A receive that is not advertised is known
// to nobody.
const (
	granted = 1 << iota // flag of CancelReply
	forSend             // it answers CancelSend
)

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if r.Done || r.Cancelling {
		return
	}
	if !r.Queued {
		p.Count.CancelsRefused++
		return
	}
	c := p.comm(r.Ctx.ID)
	kind := variants.CancelSend
	if r.Recv {
		if !r.Advertised {
			c.Posted.Remove(r)
			p.Cancelled(r)
			p.unsuspend(c, r)
			return
		}
		kind = variants.CancelRecv
	}
	peer := p.peer(c, r.Peer)
	p.Ask(r, peer)
	p.Out.Control(peer, c.envelope(kind, r.Tag, r.Ticket), uint64(p.Me), uint64(uint32(r.Peer)))
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	d := c.dest(e.Src)
	flags := uint8(0)
	for i := range d.rtrs {
		if d.rtrs[i].number == e.Ticket {
			d.rtrs = append(d.rtrs[:i], d.rtrs[i+1:]...)
			flags = granted
			break
		}
	}
	p.reply(e, payload, flags)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	flags := uint8(forSend)
	if m := c.FindNumber(e.Src, e.Ticket); m != nil {
		c.Drop(m)
		if m.Kind == variants.EnvD {
			p.Out.Consumed(p.Out.Peer(int32(variants.Word(payload, 0))), m.Size)
		}
		flags |= granted
	}
	p.reply(e, payload, flags)
}

// reply answers a rank that names itself in the question, since this one may
// not have opened the communicator yet.
func (p *Protocol) reply(e variants.Envelope, payload []byte, flags uint8) {
	p.Out.Control(p.Out.Peer(int32(variants.Word(payload, 0))), variants.Envelope{Kind: variants.CancelReply,
		Flags: flags, Ctx: e.Ctx, Src: int32(variants.Word(payload, 1)), Tag: e.Tag, Ticket: e.Ticket})
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	var r *variants.Request
	var s *send
	d := c.dest(e.Src)
	if e.Flags&forSend != 0 {
		if s = d.posted.find(e.Ticket); s != nil {
			r = s.r
		}
	} else {
		for r = c.Posted.Head(); r != nil && r.Ticket != e.Ticket; {
			r = r.Next()
		}
	}
	if r == nil || !r.Cancelling {
		return // completed before the answer came
	}
	p.Answered(r)
	switch {
	case e.Flags&granted == 0:
		p.Count.CancelsRefused++
		return
	case s != nil:
		d.posted.remove(s)
	default:
		c.Posted.Remove(r)
	}
	p.Cancelled(r)
}

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	for _, c := range p.comms {
		if c.Context == nil {
			continue
		}
		for rank, d := range c.dests {
			if c.World(rank) != w {
				continue
			}
			d.rtrs = nil
			for s := d.posted.head; s != nil; s = d.posted.head {
				d.posted.remove(s)
				if s.r != nil {
					p.Complete(s.r, variants.ErrPeerDied)
				}
			}
		}
		for r := c.Posted.Head(); r != nil; {
			next := r.Next()
			if p.Hopeless(c.Context, r.Peer) != nil {
				c.Posted.Remove(r)
				p.Complete(r, variants.ErrPeerDied)
				p.unsuspend(c, r)
			}
			r = next
		}
	}
}

package readbased

import "github.com/exanet-mpi/exanet/variants"

// Cancelling. A posted receive is known to nobody else and is taken back at
// once. A send is taken back if the receiver finds its RTS or EnvDS still
// unexpected.
const granted = 1 // flag of CancelReply

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
	if r.Recv {
		c.Posted.Remove(r)
		p.Cancelled(r)
		return
	}
	peer := p.peer(c, r.Peer)
	p.Ask(r, peer)
	p.Out.Control(peer, c.envelope(variants.CancelSend, r.Tag, r.Ticket), uint64(p.Me), uint64(uint32(r.Peer)))
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	flags := uint8(0)
	sender := p.Out.Peer(int32(variants.Word(payload, 0)))
	if m := c.FindNumber(e.Src, e.Ticket); m != nil {
		c.Drop(m)
		if m.Kind == variants.EnvDS {
			p.Out.Consumed(sender, m.Size)
		}
		flags = granted
	}
	p.Out.Control(sender, variants.Envelope{Kind: variants.CancelReply, Flags: flags,
		Ctx: e.Ctx, Src: int32(variants.Word(payload, 1)), Tag: e.Tag, Ticket: e.Ticket})
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	r := c.send(e.Ticket)
	if r == nil || !r.Cancelling {
		return // completed before the answer came
	}
	p.Answered(r)
	if e.Flags&granted == 0 {
		p.Count.CancelsRefused++
		return
	}
	c.sends.Remove(r)
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
		p.failWhere(&c.sends, func(r *variants.Request) bool { return c.World(r.Peer) == w })
		p.failWhere(&c.Posted, func(r *variants.Request) bool { return p.Hopeless(c.Context, r.Peer) != nil })
	}
}

func (p *Protocol) failWhere(q *variants.Queue, dead func(*variants.Request) bool) {
	for r := q.Head(); r != nil; {
		next := r.Next()
		if dead(r) {
			q.Remove(r)
			p.Complete(r, variants.ErrPeerDied)
		}
		r = next
	}
}

package optimistic

import "github.com/exanet-mpi/exanet/variants"

// Cancelling. What the other side knows of, an RTR or an EnvDS, can be taken
// back only if it has not been matched there. Everything else is local.

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if r.Done || r.Cancelling {
		return
	}
	c := p.comm(r.Ctx.ID)
	m := p.remote(c, r.Peer)
	switch {
	case r.Recv && r.Queued:
		c.Posted.Remove(r)
		p.takenBack(m, r)
	case r.Recv && r.Advertised:
		p.askRecv(c, m, r)
	case !r.Recv && r.Delivered && r.Queued:
		p.Ask(r, m.peer)
		p.Out.Control(m.peer, c.envelope(variants.CancelSend, r.Tag, placeOf(r)),
			uint64(p.Me), uint64(uint32(r.Peer)), uint64(r.Ticket))
	case !r.Recv && r.Queued:
		m.posted.Remove(r)
		p.takenBack(m, r)
	default:
		p.Count.CancelsRefused++
	}
}

// takenBack ends a cancelled request. The positions behind it have shifted.
func (p *Protocol) takenBack(m *remote, r *variants.Request) {
	m.loose = true
	p.Cancelled(r)
}

// askRecv asks whether the RTR of a receive may be taken back.
func (p *Protocol) askRecv(c *comm, m *remote, r *variants.Request) {
	p.Ask(r, m.peer)
	p.Out.Control(m.peer, c.envelope(variants.CancelRecv, r.Tag, placeOf(r)),
		uint64(p.Me), uint64(uint32(r.Peer)), uint64(r.Ticket))
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	number := uint32(variants.Word(payload, 2))
	flags := uint8(0)
	for i := range m.rtrs {
		if m.rtrs[i].number == number {
			m.rtrs = append(m.rtrs[:i], m.rtrs[i+1:]...)
			m.loose = true
			flags = flagGranted
			break
		}
	}
	p.reply(e, payload, flags)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	flags := uint8(flagSend)
	for x := c.First(); x != nil; x = x.Following() {
		if x.Src == e.Src && x.Tag == e.Tag && x.Ticket == e.Ticket && x.Kind == variants.EnvDS {
			c.Drop(x)
			p.Out.Consumed(p.Out.Peer(int32(variants.Word(payload, 0))), x.Size)
			p.remote(c, e.Src).loose = true
			flags |= flagGranted
			break
		}
	}
	p.reply(e, payload, flags)
}

// reply answers a rank that names itself in the question, since this one may
// not have opened the communicator yet.
func (p *Protocol) reply(e variants.Envelope, payload []byte, flags uint8) {
	p.Out.Control(p.Out.Peer(int32(variants.Word(payload, 0))), variants.Envelope{Kind: variants.CancelReply,
		Flags: flags, Ctx: e.Ctx, Src: int32(variants.Word(payload, 1)), Tag: e.Tag, Ticket: e.Ticket},
		variants.Word(payload, 2))
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	number := uint32(variants.Word(payload, 0))
	var r *variants.Request
	if e.Flags&flagSend != 0 {
		for r = m.synced.Head(); r != nil && r.Ticket != number; {
			r = r.Next()
		}
	} else {
		r = p.advertised(number)
	}
	if r == nil || !r.Cancelling {
		return // completed before the answer came
	}
	p.Answered(r)
	if e.Flags&flagGranted == 0 {
		p.Count.CancelsRefused++
		return
	}
	if !r.Recv {
		m.synced.Remove(r)
	}
	if r.Landed { // it was not the program that asked
		p.Complete(r, errMismatch)
		return
	}
	p.takenBack(m, r)
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
		for rank, m := range c.peers {
			if c.World(rank) != w {
				continue
			}
			m.rtrs = nil
			p.Fail(&m.posted)
			p.Fail(&m.synced)
		}
		for r := c.Posted.Head(); r != nil; {
			next := r.Next()
			if c.World(r.Peer) == w {
				c.Posted.Remove(r)
				p.Complete(r, variants.ErrPeerDied)
			}
			r = next
		}
	}
}

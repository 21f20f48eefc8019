package optimistic

import "github.com/exanet-mpi/exanet/variants"

// Cancelling. Taking an operation back shifts the positions of those behind it,
// at both sides. So the other side is asked in every case, even about what it
// does not know: once it has answered neither compares positions any more. What
// it does know of, an RTR or an EnvDS, it gives back only if it has not matched
// it.

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if r.Done || r.Cancelling {
		return
	}
	c := p.comm(r.Ctx.ID)
	m := p.remote(c, r.Peer)
	switch {
	case r.Recv && (r.Queued || r.Advertised):
		p.ask(c, m, r, variants.CancelRecv, r.Advertised)
	case !r.Recv && r.Queued:
		p.ask(c, m, r, variants.CancelSend, r.Delivered)
	default:
		p.Count.CancelsRefused++
	}
}

// ask asks whether a request may be taken back; known says whether the peer
// has been told of it.
func (p *Protocol) ask(c *comm, m *remote, r *variants.Request, k variants.Kind, known bool) {
	m.loose = true
	p.Ask(r, m.peer)
	words := [4]uint64{uint64(p.Me), uint64(uint32(r.Peer)), uint64(r.Ticket)}
	if known {
		words[3] = 1
	}
	p.Out.Control(m.peer, c.envelope(k, r.Tag, placeOf(r)), words[:]...)
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	m.loose = true
	number := uint32(variants.Word(payload, 2))
	yes := variants.Word(payload, 3) == 0
	for i := range m.rtrs {
		if m.rtrs[i].number == number {
			m.rtrs = append(m.rtrs[:i], m.rtrs[i+1:]...)
			yes = true
			break
		}
	}
	p.reply(e, payload, 0, yes)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	p.remote(c, e.Src).loose = true
	yes := variants.Word(payload, 3) == 0
	for x := c.First(); x != nil && !yes; x = x.Following() {
		if x.Src == e.Src && x.Tag == e.Tag && x.Ticket == e.Ticket && x.Kind == variants.EnvDS {
			p.Out.Consumed(p.Out.Peer(int32(variants.Word(payload, 0))), x.Size)
			c.Drop(x)
			yes = true
			break
		}
	}
	p.reply(e, payload, flagSend, yes)
}

// reply answers a rank that names itself in the question, since this one may
// not have opened the communicator yet.
func (p *Protocol) reply(e variants.Envelope, payload []byte, flags uint8, yes bool) {
	if yes {
		flags |= flagGranted
	}
	p.Out.Control(p.Out.Peer(int32(variants.Word(payload, 0))), variants.Envelope{Kind: variants.CancelReply,
		Flags: flags, Ctx: e.Ctx, Src: int32(variants.Word(payload, 1)), Tag: e.Tag, Ticket: e.Ticket},
		variants.Word(payload, 2))
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	number := uint32(variants.Word(payload, 0))
	var r *variants.Request
	var q *variants.Queue
	if e.Flags&flagSend != 0 {
		if r, q = find(&m.synced, number), &m.synced; r == nil {
			r, q = find(&m.posted, number), &m.posted
		}
	} else if r, q = find(&c.Posted, number), &c.Posted; r == nil {
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
	if r.Queued {
		q.Remove(r)
	}
	if r.Landed { // it was not the program that asked
		p.Complete(r, errMismatch)
		return
	}
	p.Cancelled(r)
}

func find(q *variants.Queue, number uint32) *variants.Request {
	for r := q.Head(); r != nil; r = r.Next() {
		if r.Ticket == number {
			return r
		}
	}
	return nil
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

package optimistic

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

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
	c := p.comms.Of(r.Ctx)
	m := p.remote(c, r.Peer)
	switch {
	case r.Recv && (r.Queued || r.Advertised):
		p.askCancel(c, m, r, variants.CancelRecv, r.Advertised)
	case !r.Recv && r.Queued:
		p.askCancel(c, m, r, variants.CancelSend, r.Delivered)
	default:
		p.Count.CancelsRefused++
	}
}

// askCancel asks whether a request may be taken back; known says whether the
// peer has been told of it.
func (p *Protocol) askCancel(c *comm, m *remote, r *variants.Request, k variants.Kind, known bool) {
	p.loosen(c, m)
	told := uint64(0)
	if known {
		told = 1
	}
	p.AskCancel(m.peer, c.envelope(k, r.Tag, placeOf(r)), r, uint64(r.Ticket), told)
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	p.loosen(c, m)
	yes := variants.Word(payload, 1) == 0
	number := uint32(variants.Word(payload, 0))
	if i := slices.IndexFunc(m.rtrs, func(a rtr) bool { return a.number == number }); i >= 0 {
		m.rtrs = slices.Delete(m.rtrs, i, i+1)
		yes = true
	}
	p.AnswerCancel(m.peer, e, payload, yes)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	p.loosen(c, m)
	yes := variants.Word(payload, 1) == 0
	for x := c.Arrived.First(); x != nil && !yes; x = x.InComm.Next() {
		if x.Src == e.Src && x.Tag == e.Tag && x.Ticket == e.Ticket && x.Kind == variants.EnvDS {
			p.Out.Consumed(m.peer, x.Size)
			c.Arrived.Drop(x)
			yes = true
			break
		}
	}
	p.AnswerCancel(m.peer, e, payload, yes)
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope, payload []byte) {
	p.Look(p.Notified) // a peer that has closed the communicator says yes to everything
	m := p.remote(c, e.Src)
	number := uint32(variants.Word(payload, 0))
	var r *variants.Request
	var q *variants.Queue
	if e.Flags&variants.ForSend != 0 {
		if r, q = m.synced.Find(&p.Done, number), &m.synced; r == nil {
			r, q = m.posted.Find(&p.Done, number), &m.posted
		}
	} else if r, q = c.Posted.Find(&p.Done, number), &c.Posted; r == nil {
		r = p.advertised(c, m, number)
	}
	if !p.CancelAnswered(e, r) {
		return
	}
	if r.Queued {
		q.Remove(r)
	}
	p.Cancelled(r)
}

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	for c := range p.comms.All() {
		for m := range variants.InOrder(c.peers) {
			if m.peer.World == w {
				m.rtrs = nil
				p.Fail(&m.posted)
				p.Fail(&m.synced)
			}
		}
		p.FailHopeless(&c.Posted)
	}
}

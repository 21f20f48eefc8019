package optimistic

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// Programs that break the assumption about sizes, II: those in which nobody is
// told anything. A long send waits for an RTR, the receive that it belongs to is
// an eager one and waits for a message; or an eager message lies there, and its
// receive is a long one, whose RTR no send takes. Whoever has waited for a while
// asks (Doubt).
//
// Let the two ranks compare what each of them has, when nothing is on the way
// between them that could still match. Long sends that are pending do not match
// any RTR, nor unexpected eager messages any eager receive, or they would have
// met. If a long send nevertheless matches an eager receive, or an eager message
// a long receive, these operations match operations of the other kind only. MPI
// gives one to the other, now and whatever is posted later, since later
// operations come behind. So that program has broken the assumption; and one
// that has not is never accused, however slow it is.
//
// What decides is at the sender, which the question about a receive comes to:
//
//   - An eager receive. RTRs that were sent before it have arrived. The question
//     tells how many eager messages the receiver has got, and if they are not
//     all, one may be the receive's: the sender asks in return, behind them, and
//     the question comes again.
//   - A long receive that an unexpected eager message matches. If its RTR is
//     here, no send has taken it. It is dropped, so nothing is written any more.
//
// If there is nothing yet that fits, the other side remembers that somebody
// waits, and asks as soon as it has posted something, until it hears that nobody
// does any more.

// What a Query is about. Its number is that of the asker's request.
const (
	longSend  = iota // pending
	syncSend         // an EnvDS, not acknowledged
	shortRecv        // pending; with the number of eager messages that have arrived
	longRecv         // advertised, and matched by an unexpected message, with the position and tag of that
	nobody           // the asker waits for nothing any more
	loosened         // the asker does not compare positions any more
)

const doubted = 1 << 8 // the asker has waited for a while

// Doubt asks the peers of all that waits, unless nothing has happened since it
// asked last. Its owner calls it when a wait takes long; to call it early, or
// again, is harmless.
func (p *Protocol) Doubt() {
	for c := range p.comms.All() {
		for m := range variants.InOrder(c.peers) {
			if m.news {
				m.news = false
				p.tellLoose(c, m)
				p.askAll(c, m, &m.posted, longSend)
				p.askAll(c, m, &m.synced, syncSend)
				p.askAll(c, m, &c.Posted, shortRecv)
				p.pair(c, m)
			}
		}
	}
}

// askAll asks about the first request of each tag.
func (p *Protocol) askAll(c *comm, m *remote, q *variants.Queue, what uint64) {
	seen := make(map[int32]bool)
	for r := range q.All() {
		if r.Peer == m.rank && !seen[r.Tag] && !r.Cancelling {
			seen[r.Tag] = true
			p.Hurry(m.peer)
			p.ask(c, m, r, what|doubted)
		}
	}
}

// ask sends a question about a request.
func (p *Protocol) ask(c *comm, m *remote, r *variants.Request, what uint64) {
	if !r.Cancelling {
		p.Out.Control(m.peer, c.envelope(variants.Query, r.Tag, position{n: r.Ticket}), what, uint64(m.got))
	}
}

// tellLoose tells the peer, once, that positions mean nothing any more, so that
// it does not keep apart what this rank would not. A peer that nobody waits for
// need not know.
func (p *Protocol) tellLoose(c *comm, m *remote) {
	if m.loose && !m.told {
		m.told = true
		p.Hurry(m.peer)
		p.Out.Control(m.peer, c.envelope(variants.Query, 0, position{}), loosened)
	}
}

// askAbout sends the question about a long receive and a message that it
// matches.
func (p *Protocol) askAbout(c *comm, m *remote, r *variants.Request, x *variants.Message) {
	r.Announced = true
	p.Hurry(m.peer)
	p.Out.Control(m.peer, c.envelope(variants.Query, x.Tag, position{n: r.Ticket}), longRecv, uint64(x.Ticket))
}

// pair asks about the long receives that unexpected messages match: each message
// with the first that it matches.
func (p *Protocol) pair(c *comm, m *remote) {
	taken := make(map[*variants.Message]bool)
	if c.Arrived.First() == nil {
		return
	}
	for _, r := range p.allAdvertised(c, m) {
		for x := c.Arrived.First(); x != nil; x = x.InComm.Next() {
			if taken[x] || !variants.Takes(r.Peer, r.Tag, x.Src, x.Tag) {
				continue
			}
			taken[x] = true
			if !r.Announced && !r.Cancelling {
				p.askAbout(c, m, r, x)
			}
			break
		}
	}
}

// allAdvertised returns the long receives from a remote that have not completed,
// in the order of posting.
func (p *Protocol) allAdvertised(c *comm, m *remote) (list []*variants.Request) {
	p.Each(func(r *variants.Request) {
		if r.Recv && r.Advertised && r.Ctx == c.Context && r.Peer == m.rank {
			list = append(list, r)
		}
	})
	slices.SortFunc(list, func(a, b *variants.Request) int { return int(int32(a.Ticket - b.Ticket)) })
	return list
}

// advertised returns the one with a number.
func (p *Protocol) advertised(c *comm, m *remote, number uint32) *variants.Request {
	for _, r := range p.allAdvertised(c, m) {
		if r.Ticket == number {
			return r
		}
	}
	return nil
}

// firstOf returns the oldest request that takes, or is taken by, a tag, and is
// not being cancelled.
func firstOf(q *variants.Queue, peer, tag int32) *variants.Request {
	for r := range q.All() {
		if r.Peer == peer && !r.Cancelling && (r.Tag == tag || r.Tag == variants.AnyTag || tag == variants.AnyTag) {
			return r
		}
	}
	return nil
}

func (p *Protocol) onQuery(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	what, about := variants.Word(payload, 0), uint32(variants.Word(payload, 1))
	doubt := what&doubted != 0
	idle := false // nothing of ours waits for the peer
	m.asked = m.asked || doubt
	p.tellLoose(c, m)
	switch what &^ doubted {
	case longSend:
		if r := firstOf(&c.Posted, m.rank, e.Tag); r != nil {
			p.ask(c, m, r, shortRecv)
			return
		}
		idle = firstOf(&c.Posted, m.rank, variants.AnyTag) == nil
	case syncSend:
		p.pair(c, m)
	case shortRecv:
		if r := firstOf(&m.posted, m.rank, e.Tag); r != nil {
			p.decide(c, m, r, e, about)
			return
		}
		idle = m.posted.Head() == nil && m.synced.Head() == nil
	case longRecv:
		p.decideLong(c, m, e, about)
		return
	case nobody:
		m.asked = false
		return
	case loosened:
		m.told = true
		p.loosen(c, m)
		return
	}
	if idle && !doubt {
		p.Out.Control(m.peer, c.envelope(variants.Query, e.Tag, position{}), nobody)
	}
}

// decide ends a long send of ours and an eager receive of the peer, or asks again if not all
// of our eager messages had reached the peer: it has got so many.
func (p *Protocol) decide(c *comm, m *remote, r *variants.Request, e variants.Envelope, got uint32) {
	if got != m.sent {
		p.ask(c, m, r, longSend)
		return
	}
	m.posted.Remove(r)
	m.sent++ // what the peer says without having seen this is out of date
	p.Out.Control(m.peer, c.envelope(variants.Mismatch, r.Tag, position{n: e.Ticket}))
	p.Complete(r, errMismatch)
}

// decideLong ends a long receive of the peer that our eager message at position n matches,
// unless a long send has taken it.
func (p *Protocol) decideLong(c *comm, m *remote, e variants.Envelope, n uint32) {
	i := slices.IndexFunc(m.rtrs, func(a rtr) bool { return a.number == e.Ticket })
	if i < 0 {
		return // a long send has taken it
	}
	m.rtrs = slices.Delete(m.rtrs, i, i+1)
	p.Out.Control(m.peer, c.envelope(variants.Mismatch, e.Tag, position{n: e.Ticket}), 1, uint64(n))
	p.acknowledged(m, e.Tag, n, errMismatch)
}

// drop removes a message whose receive has ended without it.
func (p *Protocol) drop(c *comm, m *remote, x *variants.Message) {
	c.Arrived.Drop(x)
	p.Out.Consumed(m.peer, x.Size)
	if x.Kind == variants.EnvDS {
		e := c.envelope(variants.Mismatch, x.Tag, position{n: x.Ticket})
		e.Flags |= flagSend
		p.Out.Control(m.peer, e)
	}
	p.Recycle(x)
}

// onMismatch ends a request that does not fit: a synchronous send, whose
// position the message tells; a long receive, with the message that belongs to
// it; or the oldest eager receive that takes the tag of a long send. The
// question may have been about a newer one that the send met first.
func (p *Protocol) onMismatch(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	switch {
	case e.Flags&flagSend != 0:
		p.acknowledged(m, e.Tag, e.Ticket, errMismatch)
	case variants.Word(payload, 0) != 0:
		n := uint32(variants.Word(payload, 1))
		for x := c.Arrived.First(); x != nil; x = x.InComm.Next() {
			if x.Src == m.rank && x.Tag == e.Tag && x.Ticket == n {
				p.drop(c, m, x)
				break
			}
		}
		if r := p.advertised(c, m, e.Ticket); r != nil {
			p.Complete(r, errMismatch)
		}
	default:
		m.got++
		r := firstOf(&c.Posted, m.rank, e.Tag)
		if r == nil {
			r = c.Posted.Find(&p.Done, e.Ticket) // it is being cancelled
		}
		if r != nil {
			c.Posted.Remove(r)
			p.Complete(r, errMismatch)
		}
	}
}

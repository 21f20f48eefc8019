package optimistic

import (
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Programs that break the assumptions.
//
// In MPI the n-th send on a (communicator, source, destination, tag) belongs to
// the n-th receive. Each side counts its own operations, and every message says
// how many came before: its position. If a message meets a request at another
// position, an eager operation has met a long one somewhere. Then the lane is
// broken: which send belongs to which receive is not to be found out any more,
// since messages have met the wrong requests. So whatever waits on it, at both ends,
// and whatever is posted later, ends with an error.
//
// Three cases remain in which nothing meets:
//
//   - An eager message arrives for a position at which a long receive is
//     advertised. The receiver sees that at once.
//   - A long receive is posted at a position whose eager message has arrived.
//     The same.
//   - A long send waits for the RTR of a receive that is eager. No message
//     tells either side. So whoever has waited for a while asks the other what
//     it has at that position (Doubt). Asking changes nothing for a program that
//     is merely slow: if the other side has not come to that position yet it
//     remembers the question, and answers when it does.
//
// A receive of any tag, and a request that is being cancelled, make positions
// meaningless; they are marked unknown from then on and no longer compared.

// errMismatch is the error of a send and a receive of which one is eager and
// one is long.
var errMismatch = fmt.Errorf("of a send and its receive one is short and one is long: %w", ErrAssumption)

// position is the number of an operation in its lane.
type position struct {
	n     uint32
	known bool
}

// Flags of envelopes.
const (
	flagKnown = 1 << 2           // Ticket is a known position
	flagSend  = variants.ForSend // of Query, Mismatch: the asker has a send
)

func positionOf(e variants.Envelope) position {
	return position{e.Ticket, e.Flags&flagKnown != 0}
}

// contradicts reports whether a message of a remote belongs to another
// operation than the one it has met.
func (m *remote) contradicts(a, b position) bool { return !m.loose && a.differs(b) }

// differs reports whether two positions are known and not the same.
func (a position) differs(b position) bool { return a.known && b.known && a.n != b.n }

// at is the position of the n-th operation of a lane.
func (m *remote) at(l *lane, n uint32) position { return position{n, l.counts && !m.loose} }

const knownBit = 1 << 32

// place notes the position of a request.
func (p *Protocol) place(r *variants.Request, at position) {
	r.Order = uint64(at.n)
	if at.known {
		r.Order |= knownBit
	}
}

func placeOf(r *variants.Request) position {
	return position{uint32(r.Order), r.Order&knownBit != 0}
}

// question is what a peer has asked about a position that this rank has not
// come to.
type question struct {
	asked bool
	n     uint32
}

// about reports whether the question is about a request.
func (q question) about(r *variants.Request) bool {
	at := placeOf(r)
	return q.asked && at.known && at.n == q.n
}

// Doubt asks the peers of all that has waited for a while without any message
// about it. Its owner calls it when a wait takes long; to call it early, or
// again, is harmless.
func (p *Protocol) Doubt() {
	for c := range p.comms.All() {
		for _, m := range c.peers {
			for r := range m.posted.All() {
				p.query(c, m, r, flagSend)
			}
		}
		for r := range c.Posted.All() {
			p.query(c, p.remote(c, r.Peer), r, 0)
		}
	}
}

func (p *Protocol) query(c *comm, m *remote, r *variants.Request, flags uint8) {
	if at := placeOf(r); at.known && !r.Announced {
		r.Announced = true // asked
		e := c.envelope(variants.Query, r.Tag, at)
		e.Flags |= flags
		p.Out.Control(m.peer, e)
		p.Hurry(m.peer)
	}
}

// onQuery answers a question if this rank has the operation and it does not
// fit, and remembers it if the operation is still to come.
func (p *Protocol) onQuery(c *comm, e variants.Envelope) {
	m := p.remote(c, e.Src)
	if m.loose {
		return
	}
	l := m.lane(e.Tag)
	q := question{true, e.Ticket}
	if e.Flags&flagSend != 0 {
		if l.received <= q.n {
			l.askedRecv = q
			return
		}
		for r := range c.Posted.All() {
			if r.Peer == e.Src && r.Tag == e.Tag && q.about(r) {
				p.breakLane(c, m, e.Tag, false)
				return
			}
		}
		return
	}
	if l.sent <= q.n {
		l.askedSend = q
		return
	}
	for r := range m.posted.All() {
		if r.Tag == e.Tag && q.about(r) {
			p.breakLane(c, m, e.Tag, true)
			return
		}
	}
}

// breakLane ends everything that waits on a lane, here and at the peer: a send
// and a receive of it do not fit. send says that this rank is the one that sends.
func (p *Protocol) breakLane(c *comm, m *remote, tag int32, send bool) {
	if p.failLane(c, m, tag, send) {
		e := c.envelope(variants.Mismatch, tag, position{})
		if !send {
			e.Flags |= flagSend // the peer is the one that sends
		}
		p.Out.Control(m.peer, e)
		p.Hurry(m.peer)
	}
}

// onMismatch takes the peer's word that a lane is broken.
func (p *Protocol) onMismatch(c *comm, e variants.Envelope) {
	p.failLane(c, p.remote(c, e.Src), e.Tag, e.Flags&flagSend != 0)
}

// failLane ends everything that waits here on a lane, and reports false if that
// has been done. A receive that is advertised is asked back first, since a send
// could have matched it before: then it completes.
func (p *Protocol) failLane(c *comm, m *remote, tag int32, send bool) bool {
	l := m.lane(tag)
	if send {
		if l.brokenSend {
			return false
		}
		l.brokenSend = l.counts
		p.failTagged(&m.posted, m.rank, tag)
		p.failTagged(&m.synced, m.rank, tag)
		return true
	}
	if l.brokenRecv {
		return false
	}
	l.brokenRecv = l.counts
	p.failTagged(&c.Posted, m.rank, tag)
	p.Each(func(r *variants.Request) {
		if r.Recv && r.Advertised && r.Ctx == c.Context && r.Peer == m.rank && r.Tag == tag {
			r.Landed = true // does not fit
			p.AskCancel(m.peer, c.envelope(variants.CancelRecv, tag, placeOf(r)), r, uint64(r.Ticket), toldBroken)
		}
	})
	return true
}

// failTagged ends the requests of a queue with one peer and tag.
func (p *Protocol) failTagged(q *variants.Queue, peer, tag int32) {
	for r := range q.All() {
		if r.Peer == peer && r.Tag == tag {
			q.Remove(r)
			p.Complete(r, errMismatch)
		}
	}
}

// eagerAt reports whether the message for the position of a long receive has
// arrived, which makes it an eager one.
func (c *comm) eagerAt(r *variants.Request) bool {
	at := placeOf(r)
	for x := c.Arrived.First(); x != nil; x = x.InComm.Next() {
		if x.Src == r.Peer && x.Tag == r.Tag && positionOf(x.Envelope).known && at.known && x.Ticket == at.n {
			return true
		}
	}
	return false
}

// fitsNobody reports whether an eager message that no receive takes is for a
// position at which a long one has been posted.
func (m *remote) fitsNobody(e variants.Envelope) bool {
	at, l := positionOf(e), m.lane(e.Tag)
	return at.known && l.counts && !m.loose && l.received > at.n
}

// advertised returns the advertised receive with a number.
func (p *Protocol) advertised(number uint32) (found *variants.Request) {
	p.Each(func(r *variants.Request) {
		if r.Recv && r.Advertised && r.Ticket == number {
			found = r
		}
	})
	return found
}

package optimistic

import (
	"fmt"

	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/variants"
)

// Programs that break the assumption about sizes, I: positions.
//
// In MPI the n-th send on a (communicator, source, destination, tag) belongs to
// the n-th receive. Each side counts its own operations, and every message says
// how many came before: its position. Operations at different positions do not
// match, so if one is eager and its counterpart is long, neither matches
// anything, and no other operation is drawn into it. As soon as a rank sees that,
// the two end with an error.
//
// A receive of any tag, and a request that is being cancelled, make positions
// meaningless; they are marked unknown from then on and no longer compared. Nor
// are those of more than a thousand tags. Then a message may meet a receive that
// another one belongs to, as long as both are short or both are long. But nobody
// waits for ever: see ask.go.

// errMismatch is the error of a send and a receive of which one is eager and
// one is long.
var errMismatch = fmt.Errorf("of a send and its receive one is short and one is long: %w", ErrAssumption)

// position is the number of an operation in its channel.
type position struct {
	n     uint32
	known bool
}

// Flags of envelopes.
const (
	flagKnown = 1 << 2           // Ticket is a known position
	flagSend  = variants.ForSend // of Mismatch: it is about a send
)

func positionOf(e variants.Envelope) position {
	return position{e.Ticket, e.Flags&flagKnown != 0}
}

// contradicts reports whether a message of a remote belongs to another
// operation than the one it has met.
func (m *remote) contradicts(a, b position) bool { return !m.loose && a.differs(b) }

// differs reports whether two positions are known and not the same.
func (a position) differs(b position) bool { return a.known && b.known && a.n != b.n }

// at is the position of the n-th operation of a channel.
func (m *remote) at(l *channel, n uint32) position { return position{n, l.counts && !m.loose} }

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

// receiveFor returns the oldest eager receive that takes a message.
func (c *comm) receiveFor(w *workcount.Count, m *remote, e variants.Envelope) *variants.Request {
	for r := c.Posted.Head(); r != nil; r = r.Next() {
		w.Searched++
		if variants.Takes(r.Peer, r.Tag, e.Src, e.Tag) && !m.contradicts(positionOf(e), placeOf(r)) {
			return r
		}
	}
	return nil
}

// messageFor returns the oldest message that an eager receive takes.
func (c *comm) messageFor(w *workcount.Count, m *remote, r *variants.Request) *variants.Message {
	for x := c.Arrived.First(); x != nil; x = x.InComm.Next() {
		w.Searched++
		if variants.Takes(r.Peer, r.Tag, x.Src, x.Tag) && !m.contradicts(positionOf(x.Envelope), placeOf(r)) {
			return x
		}
	}
	return nil
}

// loosen notes that positions are not compared any more. If they have kept
// anything apart, which they do in programs that break the assumption, it
// matches now.
func (p *Protocol) loosen(c *comm, m *remote) {
	if m.loose {
		return
	}
	m.loose = true
	if m.asked {
		p.tellLoose(c, m)
	}
	for r := range m.posted.All() {
		if a, ok := m.take(&p.Done, r); ok {
			m.posted.Remove(r)
			p.Write(m.peer, r, a.Room, false)
		}
	}
	for r := range c.Posted.All() {
		if r.Peer != m.rank {
			continue
		}
		if x := c.messageFor(&p.Done, m, r); x != nil {
			c.Posted.Remove(r)
			c.Arrived.Drop(x)
			p.receive(c, m, r, x.Envelope, x.Data)
			p.Recycle(x)
		}
	}
}

// eagerAt returns the message for the position of a long receive, which is thus
// an eager one, if it has arrived.
func (c *comm) eagerAt(m *remote, r *variants.Request) *variants.Message {
	for x := c.Arrived.First(); x != nil; x = x.InComm.Next() {
		if m.coincide(r, x) {
			return x
		}
	}
	return nil
}

// misplaced looks at a message that no receive has taken. If its position is that
// of a long receive, the sender must take back the RTR of that. If a receive of
// its tag is at another position, that one should have had a message before.
func (p *Protocol) misplaced(c *comm, m *remote, x *variants.Message) {
	if at := positionOf(x.Envelope); !at.known || m.loose {
		return
	}
	for _, r := range p.allAdvertised(c, m) {
		if m.coincide(r, x) && !r.Announced {
			p.askAbout(c, m, r, x)
		}
	}
	if r := firstOf(&c.Posted, x.Src, x.Tag); r != nil {
		p.ask(c, m, r, shortRecv)
	}
}

// coincide reports whether a receive and a message are known to have the same
// position.
func (m *remote) coincide(r *variants.Request, x *variants.Message) bool {
	at := placeOf(r)
	return x.Src == m.rank && r.Peer == m.rank && x.Tag == r.Tag && !m.loose && at.known && at == positionOf(x.Envelope)
}

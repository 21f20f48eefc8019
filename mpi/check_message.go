package mpi

import (
	"bytes"
	"errors"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/internal/checking"
)

// Messages in the checking mode: what travels is a card and a copy of the data, from memory of the
// checker's to memory of the checker's, for every message between two ranks alike. So whichever receive
// a message matches finds out what was sent. Statuses tell the size without the card.

// note is what the checker knows of a message: on memory that a call passes on, and on the request that takes it.
type note struct {
	x        *checker
	op, site string
	ctx      *Comm
	user     memory // the program's
	kind     *datatype.Type
	count    int
	recv     bool
	frame    []byte
	span     *checking.Span
	settled  bool
}

// wrap puts memory of the checker's in the place of the program's.
func (x *checker) wrap(c *Comm, op string, d *parcel, recv bool) *note {
	n := &note{x: x, op: x.call(op), site: x.here(), ctx: c, user: d.memory, recv: recv}
	if n.kind, n.count = d.kind, d.count; n.kind == nil {
		n.kind, n.count = datatype.Byte, d.size()
	}
	n.frame = make([]byte, checking.CardSize+d.size())
	view, base := d.view, uint64(0)
	if !d.gaps() {
		view = datatype.Bytes(d.buf)
	}
	if view.Base != nil {
		base = mem.AddrOf(view.Base)
	}
	n.span = checking.SpanOf(view, base, recv, n)
	d.memory = memory{buf: n.frame, note: n}
	return n
}

// lay prepares the message as its call begins, again for each start of a persistent request, and looks at the memory.
func (n *note) lay() {
	n.settled = false
	x := n.x
	x.mu.Lock()
	other := x.spans.Conflict(n.span)
	x.mu.Unlock()
	if other != nil {
		o := other.Owner.(*note)
		x.found("rank %d: %s%s %s memory that the pending %s%s %s", n.ctx.Rank(), n.op, checking.At(n.site),
			verb(n.recv, "writes to", "reads"), o.op, checking.At(o.site), verb(o.recv, "writes to", "sends from"))
	}
	if n.recv {
		return
	}
	card := checking.Card{Call: n.op, Site: n.site, Data: checking.Describe(n.kind, n.count),
		Sequence: checking.Of(n.kind, n.count)}
	card.Write(n.frame)
	n.user.pack(n.frame[checking.CardSize:], 0)
}

func verb(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// unchanged checks that the data of a send are those that it began with.
func (n *note) unchanged() {
	if n.recv {
		return
	}
	now := make([]byte, len(n.frame)-checking.CardSize)
	n.user.pack(now, 0)
	if !bytes.Equal(now, n.frame[checking.CardSize:]) {
		n.x.found("rank %d: the data of %s%s were changed before it was waited for", n.ctx.Rank(), n.op,
			checking.At(n.site))
	}
}

// settle turns a request that is done into one of the program's data, once.
func (m *pooled) settle() {
	n := m.note
	if n == nil || n.settled {
		return
	}
	n.settled = true
	r := &m.Request
	if r.Recv && !r.Status.Cancelled {
		r.Status.Size -= checking.CardSize
		n.received(m)
	}
	r.Buf = n.frame[checking.CardSize:]
}

// received checks what has been received, and hands it over.
func (n *note) received(m *pooled) {
	st, who := m.Request.Status, n.ctx.Rank()
	truncated := errors.Is(m.Request.Err, ErrTruncate)
	if m.Request.Err != nil && !truncated {
		return
	}
	room := len(n.frame) - checking.CardSize
	if truncated {
		n.x.found("rank %d: a message from rank %d, tag %d, of %d bytes is too long for %s%s of %d bytes", who,
			st.Source, st.Tag, st.Size, n.op, checking.At(n.site), room)
		return
	}
	sent := checking.ReadCard(n.frame)
	if mine := checking.First(n.kind, sent.N); !sent.Matches(mine) {
		n.x.found("rank %d receives from rank %d, tag %d: different types: %s%s sent %s, %s%s expects %s", who,
			st.Source, st.Tag, sent.Call, checking.At(sent.Site), sent.Data, n.op, checking.At(n.site),
			checking.Describe(n.kind, n.count))
	}
	n.user.unpack(n.frame[checking.CardSize:checking.CardSize+st.Size], 0)
}

// payload is size without the card.
func (d *memory) payload() int {
	if d.note != nil {
		return d.size() - checking.CardSize
	}
	return d.size()
}

// small reports whether a standard send of the program's data would be eager without the card: then the sender
// does not wait for the receiver.
func (d *memory) small(k *rank) bool { return d.note != nil && d.payload() <= k.limit }

package ticket

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/express"
)

// Lending lanes to the express lane (package express). A lane is lent when a call
// on it ends and nothing is under way on it, and recalled when the protocol comes
// to it, or when something concerns all lanes of a communicator: a wildcard, its
// end, the death of a peer.

// loans are the lanes that have been lent, by their place in the table.
type loans struct {
	table *express.Table
	wire  func(*express.Port) // fills in the addresses of a port
	in    [express.Lanes]*inLane
	at    [express.Lanes]uint16 // where those are in the table's Listed
	out   [express.Lanes]*outLane
	outs  int // lanes lent to send
}

// Lend lets the protocol lend lanes to the express lane of a table. wire fills in
// the addresses of a port.
func (p *Protocol) Lend(t *express.Table, wire func(*express.Port)) {
	h := variants.Envelope{Kind: variants.Credit, Src: p.Me}.Pack()
	copy(t.Credit[:], h[:])
	p.lent = &loans{table: t, wire: wire}
}

// LendOut lends the lane to dst, under the program's handle of the communicator, if
// nothing is under way on it.
func (p *Protocol) LendOut(ctx *variants.Context, dst, tag int32, handle uint64) {
	c := p.comms.Of(ctx)
	l := p.outLane(c, dst, tag)
	if !l.idle() || l.peer.Failed {
		return
	}
	at := express.Place(handle, dst, tag)
	if o := p.lent.out[at]; o != nil {
		p.recallOut(o)
	}
	e := c.envelope(variants.EnvD, tag, l.next)
	e.Src = p.Me
	p.lent.enter(&p.lent.table.Out[at], e, l.peer.Port, handle, dst)
	p.lent.out[at], l.lent = l, at+1
	p.lent.outs++
}

// LendIn is LendOut for the lane from src.
func (p *Protocol) LendIn(ctx *variants.Context, src, tag int32, handle uint64) {
	c := p.comms.Of(ctx)
	if c.wild.Head() != nil {
		return
	}
	l := p.inLane(c, src, tag)
	if !l.idle() || l.peer.Failed {
		return
	}
	at := express.Place(handle, src, tag)
	if o := p.lent.in[at]; o != nil {
		p.recallIn(o)
	}
	e := c.envelope(variants.EnvD, tag, l.next)
	e.Src = l.world
	p.lent.enter(&p.lent.table.In[at], e, l.peer.Port, handle, src)
	p.lent.in[at], l.lent = l, at+1
	t := p.lent.table
	p.lent.at[at], t.Listed[t.Ins] = uint16(t.Ins), uint16(at)
	t.Ins++
}

// Passed takes note that the next message from src, to a receive that is not posted, has gone
// another way.
func (p *Protocol) Passed(ctx *variants.Context, src, tag int32) {
	l := p.inLane(p.comms.Of(ctx), src, tag)
	l.pass(l.next)
}

// Extracted returns what Extract would have for a message that has been taken out of the ring
// of a lane, and counts as consumed.
func (p *Protocol) Extracted(ctx *variants.Context, src, tag int32, payload []byte) *variants.Message {
	c := p.comms.Of(ctx)
	e := c.envelope(variants.EnvD, tag, 0)
	e.Src = src
	p.Out.Again(p.Out.Peer(c.World(src)), len(payload))
	ctx.Active++
	return p.Unexpected(e, len(payload), payload)
}

// enter fills in a lane whose next message has the envelope e.
func (s *loans) enter(x *express.Lane, e variants.Envelope, port *express.Port, handle uint64, peer int32) {
	if port.Out == 0 {
		s.wire(port)
	}
	h := e.Pack()
	*x = express.Lane{Comm: handle, Peer: peer, Tag: e.Tag, Head: h[0], Word: h[1], Port: mem.Ref(port), Next: e.Ticket, Lent: 1}
}

func (p *Protocol) recallIn(l *inLane) {
	t, at := p.lent.table, l.lent-1
	l.next, t.In[at].Lent = t.In[at].Next, 0
	p.lent.in[at], l.lent = nil, 0
	t.Ins--
	last, hole := t.Listed[t.Ins], p.lent.at[at]
	t.Listed[hole], p.lent.at[last] = last, hole
}

func (p *Protocol) recallOut(l *outLane) {
	x := &p.lent.table.Out[l.lent-1]
	l.next, x.Lent = x.Next, 0
	p.lent.out[l.lent-1], l.lent = nil, 0
	p.lent.outs--
}

// Recall takes all lanes back.
func (p *Protocol) Recall() {
	if p.lent == nil {
		return
	}
	p.recallIns()
	for i := 0; p.lent.outs > 0; i++ {
		if l := p.lent.out[i]; l != nil {
			p.recallOut(l)
		}
	}
}

// recallIns takes all lanes to receive back.
func (p *Protocol) recallIns() {
	if p.lent == nil {
		return
	}
	for t := p.lent.table; t.Ins > 0; {
		p.recallIn(p.lent.in[t.Listed[t.Ins-1]])
	}
}

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
	out   [express.Lanes]*outLane
	ins   int // lanes lent to receive
	outs  int
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
	p.lent.ins++
}

// Passed takes note that the next message from src, to a receive that is not posted, has gone
// another way.
func (p *Protocol) Passed(ctx *variants.Context, src, tag int32) {
	l := p.inLane(p.comms.Of(ctx), src, tag)
	l.pass(l.next)
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
	x := &p.lent.table.In[l.lent-1]
	l.next, x.Lent = x.Next, 0
	p.lent.in[l.lent-1], l.lent = nil, 0
	p.lent.ins--
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
	for i := 0; p.lent.ins > 0; i++ {
		if l := p.lent.in[i]; l != nil {
			p.recallIn(l)
		}
	}
}

package variants

import (
	"fmt"
	"iter"

	"github.com/exanet-mpi/exanet/packetizer"
)

// Comms holds a protocol's communicators, a C for each, from Open to Close, and
// decides what becomes of messages for others:
//
//   - A message for a communicator that this rank has not opened yet waits for
//     Open. Its sender has opened it, so this rank is about to.
//   - One for a communicator that has been closed is dropped: whatever it was
//     about has completed here or been dropped with the rest. So an old
//     advertisement never meets a request of the communicator that has the id
//     now. Three kinds get an answer: an eager message gives its credit back, a
//     question about cancelling is answered with yes, and buffers go back.
//
// A rank opens the generations of an id in rising order, but it may open one while
// requests are pending in an earlier one. What stays of a closed communicator is
// one number for each id.
type Comms[C any] struct {
	open  map[uint64]*opened[C] // by id and generation
	ended map[uint32]uint32     // by id: the generation after the highest closed one
	early map[uint64][]early    // by id and generation
	last  *opened[C]            // what was looked up last
}

type opened[C any] struct {
	ctx   *Context
	state *C
	ranks map[int32]int32 // of those that have sent something, by their rank in the job, if the group is not regular
}

// early is a message that has arrived before its communicator was opened.
type early struct {
	header  packetizer.Header
	payload []byte
}

// NewComms makes an empty one.
func NewComms[C any]() Comms[C] {
	return Comms[C]{open: make(map[uint64]*opened[C]), ended: make(map[uint32]uint32), early: make(map[uint64][]early)}
}

func place(id, gen uint32) uint64 { return uint64(gen)<<32 | uint64(id) }

// isOver reports whether a generation has been closed, and cannot come again.
func (s *Comms[C]) isOver(id, gen uint32) bool {
	next, used := s.ended[id]
	return used && int32((gen-next)<<8) < 0 // serial numbers of 24 bits
}

// Open adds a communicator and delivers the messages that have waited for it.
func (s *Comms[C]) Open(ctx *Context, state *C, deliver func(h packetizer.Header, payload []byte)) {
	at := place(ctx.ID, ctx.Gen)
	if s.open[at] != nil || s.isOver(ctx.ID, ctx.Gen) {
		panic(fmt.Sprintf("variants: communicator %d is opened in generation %d, which is open or over", ctx.ID,
			ctx.Gen))
	}
	s.open[at] = &opened[C]{ctx: ctx, state: state}
	waiting := s.early[at]
	delete(s.early, at)
	for _, m := range waiting {
		deliver(m.header, m.payload)
	}
}

// Close removes a communicator. The protocol has returned the credit of its
// unexpected messages, see Core.Abandon.
func (s *Comms[C]) Close(ctx *Context) {
	delete(s.open, place(ctx.ID, ctx.Gen))
	s.last = nil
	s.end(ctx.ID, ctx.Gen)
}

func (s *Comms[C]) end(id, gen uint32) {
	if !s.isOver(id, gen) {
		s.ended[id] = (gen + 1) & genMask
	}
}

// Skip closes a communicator that is not opened.
func (s *Comms[C]) Skip(p *Core, id, gen uint32) {
	at := place(id, gen)
	for _, m := range s.early[at] {
		p.tooLate(Unpack(m.header), m.payload)
	}
	delete(s.early, at)
	s.end(id, gen)
}

// Abandon begins the Close of a communicator: it drops the unexpected messages,
// so that their senders get their credit back.
func (c *Core) Abandon(ctx *Context, arrived *Unmatched) {
	if ctx.Active != 0 {
		panic(fmt.Sprintf("variants: communicator %d is closed with %d requests pending", ctx.ID, ctx.Active))
	}
	for x := arrived.First(); x != nil; x = arrived.First() {
		arrived.Drop(x)
		if x.Kind == EnvD || x.Kind == EnvDS {
			c.Out.Consumed(c.Out.Peer(ctx.World(x.Src)), x.Size)
		}
		c.Recycle(x)
	}
}

// Of returns the state of a communicator, which is open.
func (s *Comms[C]) Of(ctx *Context) *C {
	if o := s.last; o != nil && o.ctx == ctx {
		return o.state
	}
	o := s.find(ctx.ID, ctx.Gen)
	if o == nil {
		panic(fmt.Sprintf("variants: communicator %d is used after the Close of generation %d: a goroutine has freed "+
			"it while another made a call", ctx.ID, ctx.Gen))
	}
	return o.state
}

// Last returns what Of or Route has returned last, for those who look for
// messages of the same communicator as the last.
func (s *Comms[C]) Last() *C {
	if s.last == nil {
		return nil
	}
	return s.last.state
}

// Sender returns the rank of a message's sender in what Of has returned last, which the message is for.
func (s *Comms[C]) Sender(h *packetizer.Header) int32 { return s.last.rankOf(int32(h[1] >> 32)) }

func (s *Comms[C]) find(id, gen uint32) *opened[C] {
	if o := s.last; o != nil && o.ctx.ID == id && o.ctx.Gen == gen {
		return o
	}
	if o := s.open[place(id, gen)]; o != nil {
		s.last = o
		return o
	}
	return nil
}

// rankOf returns the rank in the communicator of a rank of the job, which is in
// it.
func (o *opened[C]) rankOf(world int32) int32 {
	switch g := o.ctx.Group; {
	case g == nil:
		return world
	case g.Regular():
		return g.Rank(world)
	}
	rank, ok := o.ranks[world]
	if !ok {
		if o.ranks == nil {
			o.ranks = make(map[int32]int32)
		}
		rank = o.ctx.Group.Rank(world)
		o.ranks[world] = rank
	}
	return rank
}

// All yields the open communicators, by generation and id.
func (s *Comms[C]) All() iter.Seq[*C] {
	return func(yield func(*C) bool) {
		for o := range InOrder(s.open) {
			if !yield(o.state) {
				return
			}
		}
	}
}

// Route finds the communicator that a message is for. If there is none, or the
// message is for none, it has taken care of the message, and returns nil.
func (s *Comms[C]) Route(p *Core, h packetizer.Header, payload []byte) (*C, Envelope) {
	e := Unpack(h)
	switch e.Kind {
	case Credit:
		p.Out.credited(e, payload)
		return nil, e
	case Left:
		if p.left != nil {
			p.left(e.Ctx, e.Gen)
		}
		return nil, e
	}
	if o := s.find(e.Ctx, e.Gen); o != nil {
		e.Src = o.rankOf(e.Src)
		return o.state, e
	}
	if s.isOver(e.Ctx, e.Gen) {
		p.tooLate(e, payload)
		return nil, e
	}
	at := place(e.Ctx, e.Gen)
	s.early[at] = append(s.early[at], early{h, append([]byte(nil), payload...)})
	return nil, e
}

// Leave tells a rank of the job that this one has closed, or will never open, a communicator of which that
// rank counts who has. OnLeft has f called for each such message: the id and the generation are all that it says.
func (c *Core) Leave(world int, id, gen uint32) {
	c.Out.Control(c.Out.Peer(int32(world)), Envelope{Kind: Left, Ctx: id, Gen: gen})
}

// OnLeft is for the rank that counts.
func (c *Core) OnLeft(f func(id, gen uint32)) { c.left = f }

// tooLate answers a message for a closed communicator, as far as its sender
// needs an answer. To say that a receive may be taken back is right: whatever
// this rank has sent to it has gone before.
func (c *Core) tooLate(e Envelope, payload []byte) {
	p := c.Out.Peer(e.Src)
	switch e.Kind {
	case EnvD, EnvDS:
		c.Out.Consumed(p, len(payload))
	case CancelRecv, CancelSend:
		c.AnswerCancel(p, e, payload, true)
	case Revoke:
		c.Out.Control(p, Envelope{Kind: Revoked, Ticket: e.Ticket})
	}
}

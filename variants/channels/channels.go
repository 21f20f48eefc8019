// Package channels has what package ticket keeps of its channels: which receive takes which message, and which number
// comes next. A channel is a (communicator, peer, tag) in one direction. The sends of a channel are numbered at one end
// and the receives at the other, and in a correct program those with the same number, the ticket, match (thesis 3.5).
//
// Package ticket says what is sent when; here nothing is, but to forget a channel at both ends.
//
//	channels.go  a rank's channels, and how they are found
//	matching.go  posted receives and unexpected messages
//	suspend.go   wildcards, which leave receives without a ticket
//	next.go      messages that are received at once
//	spans.go     tickets that have been cancelled
//	forget.go    channels that are not used any more
//	lease.go     channels that a fast path has
//	failure.go   peers that die
package channels

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/standing"
)

// Table has the channels of a rank.
type Table struct {
	*variants.Core
	First    uint32 // ticket of a new channel: 0, but in a test of the wrap-around
	comms    variants.Comms[Comm]
	kept     int                                       // channels to receive on of a communicator, see forget.go
	ticketed func(c *Comm, l *In, r *variants.Request) // see New
	lessee   variants.FastPath                         // nil: there is no fast path
}

// New makes the table of a rank, which keeps so many idle channels to receive on for each communicator. A receive that
// gets its ticket after it has been posted is shown to ticketed.
func New(core *variants.Core, kept int, ticketed func(c *Comm, l *In, r *variants.Request)) Table {
	return Table{Core: core, comms: variants.NewComms[Comm](), kept: kept, ticketed: ticketed}
}

// Comm has the channels of a communicator.
type Comm struct {
	*variants.Context
	eager uint64 // Head of its EnvDs

	in      map[uint64]*In
	out     map[uint64]*Out
	lastIn  *In
	lastOut *Out

	arrived variants.Unmatched
	order   uint64 // of posting

	wild      variants.Queue // posted receives with a wildcard
	anySource int            // of those, with AnySource
	anyTag    map[int32]int  // by source, with AnyTag only
	held      []*In          // channels that have receives without a ticket

	channels []*In // those of in
	hand     int   // the next of them that forget looks at
	asked    int   // of them, Forgetting

	spareIn  spares[In]
	spareOut spares[Out]
}

// In is a channel at its receiver.
type In struct {
	Src, Tag int32
	World    int32 // Src's rank in the job
	Peer     *variants.Peer

	variants.Lease // Next is the ticket of the next message that no ticketed receive waits for
	Posted         variants.Queue
	Forgetting     bool              // the sender has been asked to forget the channel
	Repeats        standing.Repeats  // of its long receives
	Landing        *standing.Landing // see package standing

	skip       spans // tickets of cancelled sends
	unticketed int   // receives at the end of Posted without a ticket
	held       bool  // in Comm.held
	at         int   // in Comm.channels
	unexpected variants.List[variants.Message]
}

// Out is a channel at its sender.
type Out struct {
	Dst, Tag int32
	Peer     *variants.Peer

	variants.Lease // Next is the ticket of the next send
	Posted         variants.Queue
	Header         packetizer.Header // of the next EnvD, if nothing else is sent before
	RTRs           []Advertised      // receives that wait for a send, by ticket
	Remote         *standing.Remote  // see package standing

	skip spans // tickets of cancelled receives
}

// Advertised is a receive that its owner has advertised.
type Advertised struct {
	variants.Room
	Ticket uint32
}

func key(peer, tag int32) uint64 { return uint64(uint32(peer))<<32 | uint64(uint32(tag)) }

// before compares tickets as serial numbers: they wrap around.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// Add makes a communicator known. What has arrived for it goes to deliver.
func (t *Table) Add(ctx *variants.Context, deliver func(h packetizer.Header, payload []byte)) {
	t.comms.Open(ctx, &Comm{Context: ctx, eager: ctx.Envelope(variants.EnvD, 0, 0).Head(),
		in: make(map[uint64]*In), out: make(map[uint64]*Out), anyTag: make(map[int32]int)}, deliver)
}

// Skip implements variants.Protocol.
func (t *Table) Skip(id, gen uint32) { t.comms.Skip(t.Core, id, gen) }

// Remove forgets a communicator, and drops its unexpected messages.
func (t *Table) Remove(ctx *variants.Context) {
	t.RevokeAll()
	t.Abandon(ctx, &t.comms.Of(ctx).arrived)
	t.comms.Close(ctx)
}

// Of returns the channels of a communicator.
func (t *Table) Of(ctx *variants.Context) *Comm { return t.comms.Of(ctx) }

// Route finds the communicator of a message, see variants.Comms.
func (t *Table) Route(h packetizer.Header, payload []byte) (*Comm, variants.Envelope) {
	return t.comms.Route(t.Core, h, payload)
}

// In is the channel of messages from a rank, whose lease it revokes.
func (t *Table) In(c *Comm, src, tag int32) *In {
	l := t.lookIn(c, src, tag)
	if l.Granted {
		t.lessee.Revoke(&l.Lease)
	}
	return l
}

// lookIn is In for who does not need its number.
func (t *Table) lookIn(c *Comm, src, tag int32) *In {
	if l := c.lastIn; l != nil && l.Src == src && l.Tag == tag {
		return l
	}
	return t.findIn(c, src, tag)
}

// findIn is lookIn for another channel than the last.
func (t *Table) findIn(c *Comm, src, tag int32) *In {
	l := c.in[key(src, tag)]
	if l == nil {
		peer := t.Out.Peer(c.World(src))
		l = c.spareIn.get()
		*l = In{Src: src, Tag: tag, World: peer.World, Peer: peer, Lease: variants.Lease{Next: t.First}}
		c.in[key(src, tag)] = l
		t.note(c, l)
	}
	c.lastIn = l
	return l
}

// To is the channel of messages to a rank, whose lease it revokes.
func (t *Table) To(c *Comm, dst, tag int32) *Out {
	l := t.lookOut(c, dst, tag)
	if l.Granted {
		t.lessee.Revoke(&l.Lease)
	}
	return l
}

// lookOut is To for who does not need its number.
func (t *Table) lookOut(c *Comm, dst, tag int32) *Out {
	if l := c.lastOut; l != nil && l.Dst == dst && l.Tag == tag {
		return l
	}
	return t.findOut(c, dst, tag)
}

// findOut is lookOut for another channel than the last.
func (t *Table) findOut(c *Comm, dst, tag int32) *Out {
	l := c.out[key(dst, tag)]
	if l == nil {
		l = c.spareOut.get()
		*l = Out{Dst: dst, Tag: tag, Peer: t.Out.Peer(c.World(dst)), Lease: variants.Lease{Next: t.First},
			RTRs: l.RTRs[:0], Header: t.Out.Pack(c.Envelope(variants.EnvD, tag, t.First))}
		c.out[key(dst, tag)] = l
	}
	c.lastOut = l
	return l
}

// Receiving are the channels to receive on.
func (c *Comm) Receiving() []*In { return c.channels }

// EachPosted calls f for the posted requests of all communicators.
func (t *Table) EachPosted(f func(*variants.Request)) {
	each := func(q *variants.Queue) {
		for r := range q.All() {
			f(r)
		}
	}
	for c := range t.comms.All() {
		for l := range variants.InOrder(c.in) {
			each(&l.Posted)
		}
		each(&c.wild)
		for l := range variants.InOrder(c.out) {
			each(&l.Posted)
		}
	}
}

// Package standing has the buffers of the protocol standing, which is the thesis's own proposal for sends without a
// rendezvous (6.2): the ticket of a receive that repeats names a buffer on which sender and receiver have agreed
// before, so each message is one write with its notification, and no RTR, RTS or CTS. Package ticket sends the
// messages; here is which buffers there are, and which of them are free.
//
//	what happens                          messages
//	the receive repeats another           Stand, once
//	a send from then on                   write, into a buffer of the receiver's library
//	its receive                           a copy; nothing goes back
//	messages go one way only              a Freed for every two
//	another buffer, a cancel, the end     Revoke, Revoked
//
// A receiver that posts the same receive again and again gives the sender two buffers of its own for the channel. A
// send takes them in turn, and completes with its write. The receiver copies the message to the receive with its
// ticket; until one is posted, the message waits in the buffer as an unexpected one. The buffers are the library's, not
// the program's: MPI gives the program its buffer back between two receives, and a sender that knows no RTR cannot know
// when that is over. So a message costs the receiver a copy, and only short long ones go this way.
//
// A buffer may be used again when its message has been received. The sender learns so from the number of uses that are
// over. That number travels in the notifications of the writes of the other direction, so it costs nothing while
// messages go both ways. A sender that has no buffer left sends an RTS, as ever; its receiver then knows that nothing
// goes back, and tells it by a Freed whenever both buffers are free.
//
// # Order
//
// A write into such a buffer matches like a message, so it must be seen where it was sent, among all messages of the
// pair: a receive of any tag could take any of them.
//
//   - No later message leaves before the write is done (Core.WriteBefore), and the receiver takes the notifications
//     that are there before it looks at a message.
//   - An earlier message is delivered before the write is shown: the device promises that (rdmaeng.MessagesFirst). A
//     message that waits for the device is not overtaken: the send goes by RTS behind it.
//   - Writes are numbered for each pair. One that is shown early waits for those before (Partner.Next).
//
// # The end
//
// The receiver ends it by a Revoke: when a receive has another buffer or is cancelled, and when the communicator is
// closed. The sender drops the buffers and answers Revoked, which leaves behind its last write; then nothing is on its
// way, and the receiver takes them back. Numbers of buffers are used again only then.
//
//	standing.go  what a rank has of buffers
//	partner.go   what two ranks have of each other; notifications
//	landing.go   the receiver's side of the buffers of a channel
//	remote.go    the sender's
package standing

import (
	"maps"
	"slices"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

const (
	// After is how many receives of the same buffer come before one whose sender is given buffers.
	After = 2
	// Most is the size in bytes up to which messages go this way, or up to Times what the device's messages hold.
	Most  = 4 << 10
	Times = 8

	slots    = 2       // buffers of a channel
	channels = 256     // of a rank that have some
	room     = 4 << 20 // bytes of all of them
)

// Repeats counts the long receives of a channel that have the same buffer.
type Repeats struct {
	home  uint64 // of the last one's buffer; 0: it has none that lasts
	times int    // how many before it had the same
}

// Again notes a receive and reports whether it has the same buffer as the last.
func (x *Repeats) Again(home uint64) bool {
	if home == 0 || home != x.home {
		x.home, x.times = home, 0
		return false
	}
	x.times++
	return true
}

// Buffers are those of a rank.
type Buffers struct {
	dev   rdmaeng.Engine
	most  int // size of a buffer in bytes
	after int // so many receives of the same buffer come before one that gives

	given    []*Landing         // by number; nil: free
	slots    map[int]*Landing   // by slot of the device
	held     int                // bytes
	partners map[int32]*Partner // by rank in the job
}

// New makes the buffers of a rank, of up to so many bytes each, which are given to a receive that so many of the same
// buffer have come before. There are none, but nil, where the device does not promise what they need.
func New(dev rdmaeng.Engine, most, after int) (b *Buffers) {
	if dev.Order()&rdmaeng.Standing == rdmaeng.Standing {
		b = &Buffers{dev: dev, most: most, after: after, slots: make(map[int]*Landing),
			partners: make(map[int32]*Partner)}
	}
	return b
}

// Repeated reports whether a channel may have buffers for its last receive, of so many bytes: it has been repeated
// enough, and there is room.
func (b *Buffers) Repeated(x Repeats, size int) bool {
	return x.home != 0 && x.times >= b.after && size <= b.most && b.held+slots*size <= room
}

// Give makes buffers of so many bytes for a channel, and returns what Stand tells of them; or nil if there are enough.
func (b *Buffers) Give(ctx *variants.Context, src, tag int32, from *variants.Peer, size int) (*Landing, []uint64) {
	number := slices.Index(b.given, nil)
	switch {
	case number >= 0:
	case len(b.given) == channels:
		return nil, nil
	default:
		number = len(b.given)
		b.given = append(b.given, nil)
	}
	g := &Landing{Ctx: ctx, Src: src, Tag: tag, Number: uint32(number), partner: b.Partner(from), size: size}
	b.held += slots * size
	b.given[number] = g
	var words []uint64
	for i := range g.bufs {
		g.bufs[i] = make([]byte, size)
		slot, w := b.dev.Expose(g.bufs[i])
		g.slots[i] = slot
		b.slots[slot] = g
		words = append(words, w.Addr, w.Notify)
	}
	return g, append(words, uint64(size))
}

// Taken ends a use of buffers, whose message has been received, and reports whether the sender is to be told.
func (b *Buffers) Taken(g *Landing) (tell bool) {
	if g.freed == g.told && !g.revoked {
		g.partner.owing = append(g.partner.owing, g)
	}
	g.freed++
	tell = g.partner.oneWay && !g.revoked && g.freed-g.told == slots
	b.retire(g)
	return tell
}

// Withdraw takes buffers back that their sender does not use any more. What has been written to them has been shown.
func (b *Buffers) Withdraw(number uint32) {
	if g := b.given[number]; g != nil {
		b.withdraw(g)
	}
}

// withdraw makes the device forget buffers.
func (b *Buffers) withdraw(g *Landing) {
	for _, slot := range g.slots {
		b.dev.Withdraw(slot)
		delete(b.slots, slot)
	}
	b.given[g.Number] = nil
	g.revoked, g.ended = true, true
	b.retire(g)
}

// retire lets go of buffers that the device has forgotten and that hold no message.
func (b *Buffers) retire(g *Landing) {
	if !g.ended || g.Ctx != nil && g.freed != g.landed {
		return
	}
	b.held -= slots * g.size
	*g = Landing{revoked: true, over: true}
}

// Abandon is for the buffers of a channel whose communicator is closed: what they hold has been dropped, and what still
// lands in them will be.
func (b *Buffers) Abandon(g *Landing) {
	if !g.Over() {
		g.Ctx = nil
		b.retire(g)
	}
}

// Forget drops the buffers that others have given this rank for a communicator.
func (b *Buffers) Forget(ctx *variants.Context) {
	for _, x := range b.partners {
		maps.DeleteFunc(x.got, func(_ uint32, o *Remote) bool { return o.ctx == ctx })
	}
}

// Fail ends what a rank that has died had to do with.
func (b *Buffers) Fail(world int32) {
	x := b.partners[world]
	if x == nil {
		return
	}
	x.early, x.owing = nil, nil
	clear(x.got)
	for _, g := range slices.Clone(b.given) {
		if g != nil && g.partner == x {
			b.withdraw(g)
		}
	}
}

package standing

import (
	"slices"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Partner is what this rank and another have of each other.
type Partner struct {
	peer   *variants.Peer
	sent   uint32 // writes into buffers of the other
	shown  uint32 // writes into our own that have been dealt with
	early  []early
	oneWay bool               // the other has had no buffer for a send, and this rank has written nothing to it since
	owing  []*Landing         // with uses that are over, which the other has not been told
	got    map[uint32]*Remote // buffers of the other, by number
}

// early is a write that has been shown before another that comes first.
type early struct {
	g *Landing
	n rdmaeng.Notification
	i int // which buffer
}

// Partner returns what this rank and another have of each other.
func (b *Buffers) Partner(peer *variants.Peer) *Partner {
	x := b.partners[peer.World]
	if x == nil {
		x = &Partner{peer: peer, got: make(map[uint32]*Remote)}
		b.partners[peer.World] = x
	}
	return x
}

// Of a write's notification, the second word is the ticket, and the third has three numbers: which write of the pair it
// is, which buffers its sender tells of, and how many of their uses are over.
const (
	orderBits  = 10
	numberBits = 10 // 0: it tells of none
	usesBits   = 11
)

// notice makes the notification of a write into a buffer that stands.
func notice(size int, ticket, order uint32, told *Landing) rdmaeng.Notification {
	w := order & (1<<orderBits - 1)
	if told != nil {
		w |= (told.Number+1)<<orderBits | told.freed&(1<<usesBits-1)<<(orderBits+numberBits)
	}
	return rdmaeng.Notification{int32(size), int32(ticket), int32(w), 0}
}

// Landed takes the notification of a write, and returns its writer, whose Next it may be; or nil if the slot is of no
// buffer.
func (b *Buffers) Landed(slot int, n rdmaeng.Notification) *Partner {
	g := b.slots[slot]
	if g == nil {
		return nil
	}
	x := g.partner
	w := uint32(n[2])
	if told := w >> orderBits & (1<<numberBits - 1); told > 0 {
		if o := x.got[told-1]; o != nil {
			o.over(o.freed + uint32(int32((w>>(orderBits+numberBits)-o.freed)<<(32-usesBits))>>(32-usesBits)))
		}
	}
	x.early = append(x.early, early{g, n, slices.Index(g.slots[:], slot)})
	return x
}

// Use is a message in a buffer.
type Use struct {
	*Landing
	Ticket uint32
	Size   int
	Buffer uint8 // which
}

// Next returns the next message that has been written to this rank. All that was sent before has arrived.
func (x *Partner) Next() (u Use, ok bool) {
	next := slices.IndexFunc(x.early, func(y early) bool {
		return (uint32(y.n[2])^x.shown)&(1<<orderBits-1) == 0
	})
	if next < 0 {
		return u, false
	}
	y := x.early[next]
	x.early = slices.Delete(x.early, next, next+1)
	x.shown++
	y.g.landed++
	return Use{y.g, uint32(y.n[1]), y.n.Size(), uint8(y.i)}, true
}

// Freed takes a word on how many uses of buffers are over.
func (x *Partner) Freed(number, uses uint32) {
	if o := x.got[number]; o != nil {
		o.over(uses)
	}
}

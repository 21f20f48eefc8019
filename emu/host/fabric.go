// Package host is the emulated Exanet between processes of one host, or
// between goroutines of one process: packetizer, mailbox and RDMA engine over
// shared memory.
//
//	Job       the shared memory of all ranks (segment.go)
//	ring      messages of one rank to another (ring.go)
//	Member    one rank's place in it: its bells, who has died (member.go, bell.go)
//	Fabric    one rank's packetizer and mailbox (fabric.go),
//	          its RDMA engine (rdma.go, share.go, attach.go),
//	          and how it waits (wait.go)
//
// A message goes into the ring of its pair by plain stores. An RDMA write goes
// the same way, piece by piece, if it is short, cross-memory attach is refused, or
// the data have gaps at either end: the receiving side then deposits the pieces when
// it polls, as the unit of the prototype's engine at the receiving endpoint would. Otherwise the
// writer copies straight into the other process, and only the notification
// travels through the ring.
package host

import (
	"math/bits"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
)

// DefaultLimit is the largest payload of a message in bytes: about the size above
// which a cross-memory copy, and the messages that it takes, beat two copies
// through shared memory. It is also up to where a write goes through the ring.
// Rings hold at least four such, so that an empty one has room for one wherever it has come to.
const DefaultLimit = 32 << 10

// Fabric is one rank's end of the fabric. It implements packetizer.Port,
// mbox.Box and rdmaeng.Engine. Its rank serialises all calls, except that
// WakeForeground, WakeBackground, MarkBackground and WaitBackground may be
// called at any time, and that Spin and Sleep run beside everything but the
// polling calls Next, Release and Notified.
type Fabric struct {
	*Member
	limit  int
	fenced bool           // publish with a full fence
	ways   map[int]*inbox // to and from ranks that there has been something to or from
	last   *inbox         // of the last of them

	// The polling side.
	in           []*inbox // of rings that peers have opened
	cursor       int      // where the next poll begins
	current      *inbox   // whose message is out, between Next and Release
	openedSeen   uint32
	lookedAt     time.Time     // when migrate has looked last
	spinBudget   time.Duration // for which it spins before it sleeps, with a core for each rank
	backOffUntil time.Duration // until then it does not yield: another program would keep its core

	beside func() bool // see Beside
	listen func()

	engine
}

// NewFabric makes the fabric of a member, of a job that all ranks have joined. most is the largest payload
// of a message in bytes, at all ranks; 0: what suits the host.
func NewFabric(m *Member, most int) *Fabric {
	f := &Fabric{Member: m, limit: most, fenced: true, spinBudget: spinTime, ways: make(map[int]*inbox)}
	if most == 0 {
		f.limit = DefaultLimit
	}
	return f
}

// Settled tells the fabric that every rank has joined; until then it takes no
// advantage of what they may have in common.
func (f *Fabric) Settled() { f.fenced = f.job.head.fence.Load() != 0 }

// Beside makes this rank wait for something else as well, from now on: arrived looks whether it is there, and
// listen, which is called before each sleep, makes somebody Ring this rank when it comes.
func (f *Fabric) Beside(arrived func() bool, listen func()) { f.beside, f.listen = arrived, listen }

// Limit implements packetizer.Port.
func (f *Fabric) Limit() int { return f.limit }

// TrySend implements packetizer.Port.
func (f *Fabric) TrySend(to int, h packetizer.Header, payload []byte) bool {
	return f.TrySendAt(to, &h, payload)
}

// TrySendAt is TrySend for a header that it reads where it lies. To be handed over by value it is copied twice, by two
// loads of 16 bytes that overlap: the second time from what the first has just stored, for which each waits until it
// has left the store buffer.
func (f *Fabric) TrySendAt(to int, h *packetizer.Header, payload []byte) bool {
	g := &f.job.geo
	r := f.way(to).back
	inline := len(payload) <= cellInline
	c, bulk := r.room(g, inline, len(payload))
	if c == nil {
		c, bulk = f.starve(r, inline, len(payload))
	}
	if c == nil { // asked again, or the compiler has the cell read for this: which is in the peer's cache
		return f.lost(to)
	}
	if !r.head.opened {
		f.open(r, to)
	}
	if inline {
		copy(c.payload[:], payload)
	} else {
		copy(bulk, payload)
	}
	c.header[1], c.header[2] = h[1], h[2]
	r.publish(g, c, h[0], len(payload), f.fenced)
	f.Ring(to)
	return true
}

// space is room with all that a sender does about it: it asks for room where there is none, and opens the ring.
func (f *Fabric) space(r ring, to int, inline bool, n int) (c *cell, bulk []byte) {
	if c, bulk = r.room(&f.job.geo, inline, n); c == nil {
		c, bulk = f.starve(r, inline, n)
	}
	if c != nil && !r.head.opened {
		f.open(r, to)
	}
	return c, bulk
}

// lost reports whether a full ring leads to a rank that will never empty it.
func (f *Fabric) lost(to int) bool {
	s := f.job.control(to).state.Load()
	return s == stateDead || s == stateFinalized
}

// starve asks the consumer to ring when it has made room, and looks again.
func (f *Fabric) starve(r ring, inline bool, n int) (*cell, []byte) {
	r.head.starved.Store(1)
	return r.room(&f.job.geo, inline, n)
}

// open tells the consumer of a ring that it has to look at it from now on.
func (f *Fabric) open(r ring, to int) {
	w, bit := f.job.openedBy(to, f.me)
	w.Or(bit)
	f.job.control(to).opened.Add(1)
	r.head.opened = true
}

// rescan takes notice of newly opened rings.
func (f *Fabric) rescan() {
	f.openedSeen = f.self.opened.Load()
	for base := 0; base < f.job.ranks; base += 64 {
		w, _ := f.job.openedBy(f.me, base)
		for set := w.Load(); set != 0; set &= set - 1 {
			from := base + bits.TrailingZeros64(set)
			if !slices.ContainsFunc(f.in, func(in *inbox) bool { return in.from == from }) {
				f.in = append(f.in, f.way(from))
			}
		}
	}
}

// Next implements mbox.Box. Records of the sending fabrics that it meets on
// the way are carried out.
func (f *Fabric) Next() (h packetizer.Header, payload []byte, ok bool) {
	if len(f.fetches) > 0 {
		f.runAgent()
	}
	if f.borrowings.Load() != f.borrowSeen {
		f.takeOver()
	}
	for in := f.first(); in != nil; in = f.first() {
		c, w, _ := in.peek(&f.job.geo)
		n := length(w)
		if n == deviceLength {
			f.carryOut(in, c)
			f.advance(in)
			continue
		}
		f.cursor++
		return packetizer.Header{w, c.header[1], c.header[2]}, f.out(in, c, n), true
	}
	return h, nil, false
}

// first returns the next ring with a message, nil if there is none. It is the first at the next call, too.
func (f *Fabric) first() *inbox {
	if f.self.opened.Load() != f.openedSeen {
		f.rescan()
	}
	for range f.in {
		if f.cursor >= len(f.in) {
			f.cursor = 0
		}
		in := f.in[f.cursor]
		if _, _, ok := in.peek(&f.job.geo); ok {
			return in
		}
		f.cursor++
	}
	return nil
}

// length is that of the payload of a message, by the first word of its header.
func length(w uint64) int { return int(w >> 16 & 0xffff) }

// Look looks so many times for the next message of one rank, or of any if rank is negative, and leaves it where it is:
// n is its size. h is nil if there is none, and lasts as long as the message: to copy it takes longer than all else
// here. It carries out no records.
func (f *Fabric) Look(rank, looks int) (h *packetizer.Header, n int) {
	for left := looks; left > 0; left -= mem.Pause() {
		if rank >= 0 {
			f.current = f.way(rank)
		} else if f.current = f.first(); f.current == nil {
			continue
		}
		c, w, ok := f.current.peek(&f.job.geo)
		if !ok {
			continue
		}
		if n = length(w); n == deviceLength {
			break
		}
		return &c.header, n
	}
	return nil, 0
}

// Take takes the message out that Look has found, of n bytes, until Release.
func (f *Fabric) Take(n int) (payload []byte) {
	f.cursor++ // the next from any shall be from another rank
	in := f.current
	return f.out(in, in.cell(&f.job.geo, in.head.head), n)
}

// way is the one to a rank and back.
func (f *Fabric) way(rank int) *inbox {
	if w := f.last; w != nil && w.from == rank {
		return w
	}
	return f.find(rank)
}

// find is way for another rank than the last.
func (f *Fabric) find(rank int) *inbox {
	w := f.ways[rank]
	if w == nil {
		w = &inbox{f.job.ringOf(rank, f.me), f.job.ringOf(f.me, rank), rank}
		f.ways[rank] = w
	}
	f.last = w
	return w
}

// out takes a message of n bytes out, until Release.
func (f *Fabric) out(in *inbox, c *cell, n int) []byte {
	f.current = in
	if n > cellInline {
		return in.bulkNext(&f.job.geo, n)
	}
	return c.payload[:n]
}

// Release implements mbox.Box.
func (f *Fabric) Release() { f.advance(f.current) }

func (f *Fabric) advance(in *inbox) {
	if in.advance(&f.job.geo) {
		f.Refill(in.from)
	}
}

// Close gives up what the fabric holds. The segment stays mapped until the
// process ends, since peers may still look at it from other goroutines.
func (f *Fabric) Close() { f.engine.close() }

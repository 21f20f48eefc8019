package host

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
)

// A ring carries the messages of one sender to one receiver: FIFO, one
// producer, one consumer. A producer that is stopped or killed between
// claiming a cell and publishing it holds up nobody but itself, because no
// other producer's messages lie behind that cell.
//
//	head     see ringHead
//	cells    a power of two of them, 256 B each: a message
//	bulk     a power of two of bytes: payloads that do not fit a cell
//
// A message of up to 40 B of payload touches one cache line. Its first word is
// stored last, with release order, and carries the lap of the ring as phase: a
// cell holds a message exactly if its phase is that of the current lap, so
// producer and consumer share no index. Bulk space is taken in the order of the
// cells; a cell tells from where on.
//
// The consumer gives cells and bulk space back in steps of an eighth of the
// cells, or of the stage. Messages the other way tell besides how much bulk space has been consumed, where
// their first cache line has room for that. A producer that knows so that all of it is
// free begins again at its front, which both processors still have in their caches, once it
// is behind that: two ranks that answer each other use the same few lines, but not those
// again that the other side may just be reading. So a producer that waits can make its own
// what it is about to write (prepare.go).
type ring struct {
	head  *ringHead
	cells unsafe.Pointer // *[geometry.cells]cell
	bulk  unsafe.Pointer // *[geometry.bulk]byte
}

// ringHead keeps what the two sides write on cache lines of their own.
type ringHead struct {
	// Touched by the producer only.
	tail       uint64 // cells written since the beginning
	credit     uint64 // of which the consumer had released so many, when last seen
	bulkTail   uint64 // bytes of bulk taken since the beginning, gaps included
	bulkCredit uint64
	opened     bool  // the consumer has been told of this ring
	attach     uint8 // what the probe of cross-memory attach found
	_          [2]byte
	recent     uint32                  // bytes of the last message with bulk, if it was hot, or cold and with onBelt, until the place of the next one has been prepared
	claimed    [shareSlots / 64]uint64 // bitmap of claims in use
	done       uint64                  // bytes of bulk of the ring back that this side has consumed

	// Written by the consumer, read by the producer when it runs out.
	released     atomic.Uint64
	bulkReleased atomic.Uint64
	_            [4]byte // whether it waits in a call of the express lane
	_            [64 - 20]byte

	// Set by the producer when it runs out, cleared by the consumer when it
	// has rung the producer's bell.
	starved atomic.Uint32
	_       [64 - 4]byte

	// Touched by the consumer only.
	cursor cursor
	_      [64 - 40]byte

	// How the consumer wants bulk to be written.
	gauge across.Gauge

	// Touched by the producer only: where the next cold copy goes, on the belt.
	cold uint64
	_    [192 - 8]byte // cells begin with four lines, of which the processor may fetch two at a time

	// By both sides: where messages of the express lane have their rendezvous, see package lanec.
	_ [64][64]byte

	// By both sides: how they share out copies to the consumer, see share.go.
	claims [shareSlots]claim
}

// gauge is head's. For the address of a field the compiler would look whether there is a head at all, by a load from its first
// line, the producer's: a trip of that line for each message.
func (r ring) gauge() *across.Gauge {
	return (*across.Gauge)(unsafe.Add(unsafe.Pointer(r.head), unsafe.Offsetof(r.head.gauge)))
}

// cursor is how far the consumer has come. It is in the ring and not beside it, so
// that whoever may take messages out finds it there: the express lane of package
// express besides the fabric.
type cursor struct {
	head     uint64 // cells consumed since the beginning
	returned uint64 // of which released to the producer
	bulkHead uint64 // bytes of bulk space, likewise
	bulkRet  uint64 // and those that the producer has skipped since
	bulkDone uint64 // those of cells consumed
}

const onBelt = 1 << 31

const (
	cellSize   = 256
	cellInline = cellSize - packetizer.HeaderSize
	headSize   = int(unsafe.Sizeof(ringHead{}))
	bulkAlign  = mem.CacheLine
)

type cell struct {
	header  packetizer.Header
	payload [cellInline]byte
}

// The last words of a cell's first line: how its bulk bytes have been written, of messages from across.Least bytes on; where they begin, counted
// since the beginning; and ringHead.done, in messages with such or with a
// payload of up to shortPayload bytes. A record has the first in the place of the last.
func (c *cell) told() *across.Told {
	return (*across.Told)(unsafe.Pointer(&c.payload[shortPayload-16]))
}
func (c *cell) bulkAt() *uint64 { return (*uint64)(unsafe.Pointer(&c.payload[shortPayload-8])) }
func (c *cell) done() *uint64   { return (*uint64)(unsafe.Pointer(&c.payload[shortPayload])) }

const shortPayload = bulkAlign - packetizer.HeaderSize - 8

// mostInFront is the longest payload for which the bulk space begins again, and how much of it
// is used before it does: two longer ones and the buffers of both ranks do not fit in the
// nearest cache anyway.
const mostInFront = 8 << 10

// window is how much of the bulk space messages take that ranks still answer one by one.
const window = 32 << 10

func tellsDone(n int) bool { return n <= shortPayload || n > cellInline }

// geometry gives the size of every ring of a job.
type geometry struct {
	cells uint64 // a power of two
	shift uint8  // its logarithm
	bulk  uint64 // bytes, a power of two
}

func geometryOf(cells, bulk uint64) geometry {
	return geometry{cells, uint8(bits.TrailingZeros64(cells)), bulk}
}

func (g geometry) ringSize() int {
	return headSize + int(g.cells)*cellSize + int(g.bulk)
}

func (g geometry) ringAt(base unsafe.Pointer) ring {
	return ring{
		head:  (*ringHead)(base),
		cells: unsafe.Add(base, headSize),
		bulk:  unsafe.Add(base, headSize+int(g.cells)*cellSize),
	}
}

func (r ring) cell(g *geometry, i uint64) *cell {
	return (*cell)(unsafe.Add(r.cells, (i&(g.cells-1))*cellSize))
}

// phase is what the low 16 bits of a cell's first word hold while it carries
// message i. It differs from the phase of the lap before, and in the first lap
// from the zero of fresh memory.
func (g *geometry) phase(i uint64) uint64 {
	return (i>>g.shift + 1) & 0xffff
}

// forms are those in which bulk may be written.
func (g *geometry) forms() across.Forms {
	if g.bulk <= across.Stage {
		return across.Copied
	}
	return across.Roomy
}

// bulkPlace returns from where on so many bytes go when the bulk space up to tail is taken. They never wrap around the end.
func (g *geometry) bulkPlace(tail, size, end uint64) (at uint64) {
	if tail&(g.bulk-1)+size > end {
		return g.lap(tail)
	}
	return tail
}

// stage is the front of the space. The rest, if there is any, is the belt, which is for cold copies.
func (g *geometry) stage() uint64 { return min(g.bulk, across.Stage) }

// beltPlace is the place on the belt.
func (h *ringHead) beltPlace(g *geometry, size uint64) (at uint64) {
	cold := h.cold
	if cold+size > g.bulk-across.Stage {
		cold = 0
	}
	if at = h.bulkTail&^(g.bulk-1) + across.Stage + cold; at < h.bulkTail {
		at += g.bulk
	}
	return at
}

// slack is what a jump in the bulk space leaves: more than the consumer consumes before it gives back.
const slack = 256 << 10

// leaves reports whether what is taken up to next leaves so much.
func (h *ringHead) leaves(g *geometry, next, rest uint64) bool {
	if next-h.bulkCredit+rest > g.bulk {
		h.credited(h.bulkReleased.Load())
	}
	return next-h.bulkCredit+rest <= g.bulk
}

// takeBulk takes bulk space for n bytes, and returns where it begins. What is skipped on the way to the stage, or to the belt, the
// consumer gives back with what follows: where it might not, for lack of room, the bytes go where the last ones end.
func (h *ringHead) takeBulk(g *geometry, n int, form across.Form) (at uint64, ok bool) {
	size := bulkSize(n)
	if n <= mostInFront && form != across.Cold && h.bulkCredit == h.bulkTail && g.behindFront(h.bulkTail) {
		h.bulkTail = g.lap(h.bulkTail)
		h.bulkCredit = h.bulkTail
	}
	if form == across.Cold {
		at = h.beltPlace(g, size)
	} else {
		at = g.bulkPlace(h.bulkTail, size, g.stage())
	}
	switch {
	case at != h.bulkTail && g.stage() < g.bulk && !h.leaves(g, at+size, slack):
		at = g.bulkPlace(h.bulkTail, size, g.bulk)
	case form == across.Cold:
		h.cold = at&(g.bulk-1) - across.Stage + size
	}
	if !h.leaves(g, at+size, 0) {
		return 0, false
	}
	h.bulkTail = at + size
	return at, true
}

// bulkSize is the bulk space that n bytes take.
func bulkSize(n int) uint64 { return uint64(n+bulkAlign-1) &^ (bulkAlign - 1) }

// lap is where the bulk space begins again behind what is taken up to tail.
func (g *geometry) lap(tail uint64) uint64 { return (tail + g.bulk - 1) &^ (g.bulk - 1) }

// behindFront reports whether the bulk space may begin again when it is taken up to tail. Behind a
// window of many messages it may not: the lines of its beginning lie in the cache of who has read them.
func (g *geometry) behindFront(tail uint64) bool {
	at := tail & (g.bulk - 1)
	return at > mostInFront && at <= window
}

func (r ring) bulkBytes(g *geometry, at uint64, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.bulk, at&(g.bulk-1))), n)
}

// A record is a cell with a length of deviceLength: it comes from the sending
// fabric and not from its user.
const deviceLength = 0xffff

// room returns the next cell to write and, if n bytes do not fit into it, takes the
// bulk space for them, which are to be written in a form: until it is published nobody sees the cell, but the space is
// no longer that of the next message (prepare.go). It returns nil if either is taken.
func (r ring) room(g *geometry, inline bool, n int, form across.Form) (c *cell, bulk []byte) {
	h := r.head
	if h.tail-h.credit >= g.cells {
		h.credit = h.released.Load()
		if h.tail-h.credit >= g.cells {
			return nil, nil
		}
	}
	c = r.cell(g, h.tail)
	if !inline {
		at, ok := h.takeBulk(g, n, form)
		if !ok {
			return nil, nil
		}
		*c.bulkAt(), bulk = at, r.bulkBytes(g, at, n)
		switch h.recent = 0; {
		case form == across.Hot:
			h.recent = uint32(n)
		case form == across.Cold && r.gauge().Prepares(n):
			h.recent = uint32(n) | onBelt
		}
	}
	return c, bulk
}

// credited notes how much bulk space the consumer has said to have consumed.
func (h *ringHead) credited(bulk uint64) { h.bulkCredit = max(h.bulkCredit, bulk) }

// publish makes the cell that room returned visible to the consumer. low is
// the length field; fenced asks for a full barrier behind the store.
func (r ring) publish(g *geometry, c *cell, word0 uint64, length int, fenced bool) {
	h := r.head
	w := word0 | uint64(length)<<16 | g.phase(h.tail)
	h.tail++
	first := (*uint64)(unsafe.Pointer(c)) // not &c.header[0]: for that the compiler has the cell read
	if fenced {
		atomic.StoreUint64(first, w)
	} else {
		mem.Publish(first, w)
	}
	if h.tail%owned == 0 {
		r.ownCells(g, length)
	}
}

// inbox is the consumer's side of a ring.
type inbox struct {
	ring
	back ring // to the same rank
	from int
}

// peek returns the next cell, its first word and whether it is published.
func (in *inbox) peek(g *geometry) (c *cell, w uint64, ok bool) {
	i := in.head.cursor.head
	c = in.cell(g, i)
	w = atomic.LoadUint64(&c.header[0])
	return c, w, w&0xffff == g.phase(i)
}

// bulkNext returns the bulk bytes of a cell, the current one; advance releases them.
func (in *inbox) bulkNext(g *geometry, c *cell, n int) []byte {
	at, first := &in.head.cursor, *c.bulkAt()
	at.bulkRet += first - at.bulkHead
	at.bulkHead = first + bulkSize(n)
	return in.bulkBytes(g, first, n)
}

// advance consumes the current cell and reports whether the producer, having
// run out, must be rung.
func (in *inbox) advance(g *geometry) (ring bool) {
	h := in.head
	at := &h.cursor
	at.head++
	if at.bulkDone != at.bulkHead {
		at.bulkDone = at.bulkHead
		in.back.head.done = at.bulkDone
	}
	if at.head-at.returned < g.cells/8 && at.bulkHead-at.bulkRet < g.stage()/8 {
		return false
	}
	at.returned, at.bulkRet = at.head, at.bulkHead
	h.bulkReleased.Store(at.bulkHead)
	h.released.Store(at.head)
	return h.starved.Load() != 0 && h.starved.Swap(0) != 0
}

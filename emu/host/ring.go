package host

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

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
//	bulk     a power of two of bytes, used around and around: payloads that do not fit a cell
//
// A message of up to 40 B of payload touches one cache line. Its first word is
// stored last, with release order, and carries the lap of the ring as phase: a
// cell holds a message exactly if its phase is that of the current lap, so
// producer and consumer share no index. Bulk space is taken in the order of the
// cells, and where a message goes follows from its size and the end of the last one: both
// sides work that out for themselves.
//
// The consumer gives cells and bulk space back in steps of an eighth. The producer looks at
// how much that is only when it has run out.
//
// The fast path in C (cmd/libexanet/c/ring.h) does the same on the same memory.
type ring struct {
	head  *ringHead
	cells unsafe.Pointer // *[geometry.cells]cell
	bulk  unsafe.Pointer // *[geometry.bulk]byte
}

// ringHead keeps what the two sides write on cache lines of their own.
//
//exanet:c ring
type ringHead struct {
	// Touched by the producer only.
	tail       uint64                  // cells written since the beginning
	credit     uint64                  // of which the consumer had released so many, when last seen
	bulkTail   uint64                  // bytes of bulk taken since the beginning, gaps included
	bulkCredit uint64                  // likewise
	claimed    [shareSlots / 64]uint64 // bitmap of claims in use
	opened     bool                    // the consumer has been told of this ring
	attach     uint8                   // what the probe of cross-memory attach found
	_          [2]byte
	// bytes of bulk of the last message of the fast path, until the place of the next one is prefetched
	recent uint32
	_      [8]byte

	// Written by the consumer, read by the producer when it runs out.
	released     atomic.Uint64
	bulkReleased atomic.Uint64
	_            [48]byte

	// Set by the producer when it runs out, cleared by the consumer when it
	// has rung the producer's bell.
	starved atomic.Uint32
	_       [60]byte

	// Touched by the consumer only. It is here and not beside the ring, so that whoever may take
	// messages out finds it: the fast path besides the fabric.
	head         uint64 // cells consumed since the beginning
	returned     uint64 // of which released to the producer
	bulkHead     uint64 // bytes of bulk consumed, gaps included
	bulkReturned uint64
	_            [32]byte

	// By both sides: how they share out copies to the consumer, see share.go.
	claims [shareSlots]claim
}

// Of a ring, in bytes: a cell, what of it is for the payload, and what bulk space is aligned to.
//
//exanet:c RING_
const (
	cellSize   = 256
	cellInline = cellSize - packetizer.HeaderSize
	bulkAlign  = mem.CacheLine
	headSize   = int(unsafe.Sizeof(ringHead{}))
)

// cell is a message, or a record.
//
//exanet:c ring_cell
type cell struct {
	header  packetizer.Header
	payload [cellInline]byte
}

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

// bulkSize is the bulk space that n bytes take.
func bulkSize(n int) uint64 { return uint64(n+bulkAlign-1) &^ (bulkAlign - 1) }

// bulkPlace returns where so much bulk space begins that is taken behind tail: there, or where the next lap
// begins, since no payload wraps around the end.
func (g *geometry) bulkPlace(tail, size uint64) uint64 {
	if tail&(g.bulk-1)+size > g.bulk {
		return (tail + g.bulk - 1) &^ (g.bulk - 1)
	}
	return tail
}

func (r ring) bulkBytes(g *geometry, at uint64, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.bulk, at&(g.bulk-1))), n)
}

// A record is a cell with a length of deviceLength: it comes from the sending
// fabric and not from its user.
const deviceLength = 0xffff

// room returns the next cell to write and, unless n bytes go inline, takes the bulk space for
// them. It returns nil if either is taken.
func (r ring) room(g *geometry, inline bool, n int) (c *cell, bulk []byte) {
	h := r.head
	if h.tail-h.credit >= g.cells {
		h.credit = h.released.Load()
		if h.tail-h.credit >= g.cells {
			return nil, nil
		}
	}
	c = r.cell(g, h.tail)
	if inline {
		return c, nil
	}
	size := bulkSize(n)
	at := g.bulkPlace(h.bulkTail, size)
	if at+size-h.bulkCredit > g.bulk {
		h.bulkCredit = h.bulkReleased.Load()
		if at+size-h.bulkCredit > g.bulk {
			return nil, nil
		}
	}
	h.bulkTail = at + size
	return c, r.bulkBytes(g, at, n)
}

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
}

// inbox is the consumer's side of a ring.
type inbox struct {
	ring
	back ring // to the same rank
	from int
}

// peek returns the next cell, its first word and whether it is published.
func (in *inbox) peek(g *geometry) (c *cell, w uint64, ok bool) {
	i := in.head.head
	c = in.cell(g, i)
	w = atomic.LoadUint64(&c.header[0])
	return c, w, w&0xffff == g.phase(i)
}

// bulkNext returns the n bulk bytes of the current cell; advance releases them.
func (in *inbox) bulkNext(g *geometry, n int) []byte {
	size := bulkSize(n)
	at := g.bulkPlace(in.head.bulkHead, size)
	in.head.bulkHead = at + size
	return in.bulkBytes(g, at, n)
}

// advance consumes the current cell and reports whether the producer, having
// run out, must be rung.
func (in *inbox) advance(g *geometry) (ring bool) {
	h := in.head
	h.head++
	if h.head-h.returned < g.cells/8 && h.bulkHead-h.bulkReturned < g.bulk/8 {
		return false
	}
	h.returned, h.bulkReturned = h.head, h.bulkHead
	h.bulkReleased.Store(h.bulkHead)
	h.released.Store(h.head)
	return h.starved.Load() != 0 && h.starved.Swap(0) != 0
}

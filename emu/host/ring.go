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
//	bulk     a power of two of bytes: payloads that do not fit a cell
//
// A message of up to 40 B of payload touches one cache line. Its first word is
// stored last, with release order, and carries the lap of the ring as phase: a
// cell holds a message exactly if its phase is that of the current lap, so
// producer and consumer share no index. Bulk space is taken in the order of the
// cells and at offsets that both sides compute alike.
//
// The consumer gives cells and bulk space back in steps of an eighth of the
// ring.
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
	_          [6]byte
	claimed    [shareSlots / 64]uint64 // bitmap of claims in use
	_          [64 - 56]byte

	// Written by the consumer, read by the producer when it runs out.
	released     atomic.Uint64
	bulkReleased atomic.Uint64
	_            [64 - 16]byte

	// Set by the producer when it runs out, cleared by the consumer when it
	// has rung the producer's bell.
	starved atomic.Uint32
	_       [64 - 4]byte

	// Touched by the consumer only.
	cursor cursor
	_      [64 - 32]byte

	// By both sides: how they share out copies to the consumer, see share.go.
	claims [shareSlots]claim
}

// cursor is how far the consumer has come. It is in the ring and not beside it, so
// that whoever may take messages out finds it there: the express lane of package
// express besides the fabric.
type cursor struct {
	head     uint64 // cells consumed since the beginning
	returned uint64 // of which released to the producer
	bulkHead uint64 // bytes of bulk space, likewise
	bulkRet  uint64
}

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

// bulkPlace returns where n bytes go when the bulk space up to tail is taken:
// their offset and the new tail. They never wrap around the end.
func (g *geometry) bulkPlace(tail uint64, n int) (off, next uint64) {
	size := uint64(n+bulkAlign-1) &^ (bulkAlign - 1)
	off = tail & (g.bulk - 1)
	if off+size > g.bulk {
		tail += g.bulk - off
		off = 0
	}
	return off, tail + size
}

func (r ring) bulkBytes(off uint64, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.bulk, off)), n)
}

// A record is a cell with a length of deviceLength: it comes from the sending
// fabric and not from its user.
const deviceLength = 0xffff

// room returns the next cell to write and, if n bytes do not fit into it, the
// bulk space for them. It returns nil if either is taken.
func (r ring) room(g *geometry, inline bool, n int) (c *cell, bulk []byte, bulkTail uint64) {
	h := r.head
	if h.tail-h.credit >= g.cells {
		h.credit = h.released.Load()
		if h.tail-h.credit >= g.cells {
			return nil, nil, 0
		}
	}
	bulkTail = h.bulkTail
	if !inline {
		var off uint64
		off, bulkTail = g.bulkPlace(h.bulkTail, n)
		if bulkTail-h.bulkCredit > g.bulk {
			h.bulkCredit = h.bulkReleased.Load()
			if bulkTail-h.bulkCredit > g.bulk {
				return nil, nil, 0
			}
		}
		bulk = r.bulkBytes(off, n)
	}
	return r.cell(g, h.tail), bulk, bulkTail
}

// publish makes the cell that room returned visible to the consumer. low is
// the length field; fenced asks for a full barrier behind the store.
func (r ring) publish(g *geometry, c *cell, word0 uint64, length int, bulkTail uint64, fenced bool) {
	h := r.head
	w := word0 | uint64(length)<<16 | g.phase(h.tail)
	h.tail++
	h.bulkTail = bulkTail
	if fenced {
		atomic.StoreUint64(&c.header[0], w)
	} else {
		mem.Publish(&c.header[0], w)
	}
}

// inbox is the consumer's side of a ring.
type inbox struct {
	ring
	from int
}

// peek returns the next cell, its first word and whether it is published.
func (in *inbox) peek(g *geometry) (c *cell, w uint64, ok bool) {
	i := in.head.cursor.head
	c = in.cell(g, i)
	w = atomic.LoadUint64(&c.header[0])
	return c, w, w&0xffff == g.phase(i)
}

// bulkNext returns the bulk bytes of the current cell; advance releases them.
func (in *inbox) bulkNext(g *geometry, n int) []byte {
	at := &in.head.cursor.bulkHead
	off, next := g.bulkPlace(*at, n)
	*at = next
	return in.bulkBytes(off, n)
}

// advance consumes the current cell and reports whether the producer, having
// run out, must be rung.
func (in *inbox) advance(g *geometry) (ring bool) {
	h := in.head
	at := &h.cursor
	at.head++
	if at.head-at.returned < g.cells/8 && at.bulkHead-at.bulkRet < g.bulk/8 {
		return false
	}
	at.returned, at.bulkRet = at.head, at.bulkHead
	h.bulkReleased.Store(at.bulkHead)
	h.released.Store(at.head)
	return h.starved.Load() != 0 && h.starved.Swap(0) != 0
}

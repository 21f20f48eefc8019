package host

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
)

// What a message is written to was read by its receiver last, which has it as well as the sender:
// before the sender can write there the other's must go, which takes as long as to read what has
// come. A rank that waits for an answer sees to that meanwhile, for a message with bulk, and every
// few messages it does so for the cells of later ones: for several lines at once it takes as long as for one.
// The express lane does the same on the same words (express_prepare and own_cells of package lanec).

// prepare does so for all ranks whose answers may be awaited.
func (f *Fabric) prepare() {
	for i := range f.in {
		if in := f.in[i]; in.unprepared() {
			in.prepare(&f.job.geo)
		}
	}
}

// unprepared reports whether there is something to prepare for the next message to the rank of an inbox.
func (in *inbox) unprepared() bool { return in.back.head.recent > 0 }

// prepare makes what a message to the rank of an inbox, as long as the last one, would be written to
// this rank's own, until one from it is there; it returns up to where. That will be at the front again
// if the peer has read all by then, as who answers has. What it may be reading still must not
// be written to.
func (in *inbox) prepare(g *geometry) uint64 {
	h, n := in.back.head, int(in.back.head.recent&^onBelt)
	size := bulkSize(n)
	var at uint64
	switch {
	case h.recent&onBelt != 0:
		at = h.beltPlace(g, size)
	case n <= mostInFront && g.behindFront(h.bulkTail):
		at = g.lap(h.bulkTail)
	default:
		at = g.bulkPlace(h.bulkTail, size, g.stage())
	}
	h.recent = 0
	for end := min(at+size, h.bulkCredit+g.bulk); at < end; at += bulkAlign {
		if _, _, come := in.peek(g); come {
			break
		}
		mem.Own(unsafe.Add(in.back.bulk, at&(g.bulk-1)))
	}
	return at
}

// After so many messages the producer makes its own the cells of so many that come later.
const owned = 8

// ownCells does so, for messages of n bytes.
func (r ring) ownCells(g *geometry, n int) {
	h := r.head
	end := h.tail + 2*owned
	if end-h.credit > g.cells {
		h.credit = h.released.Load()
	}
	if end-h.credit > g.cells {
		return
	}
	used := bulkAlign
	if n <= cellInline {
		used = packetizer.HeaderSize + n
	}
	for i := end - owned; i < end; i++ {
		c := r.cell(g, i)
		mem.Own(unsafe.Pointer(&c.header[2])) // not the first word, which tells whether there is a message
		for at := bulkAlign; at < used; at += bulkAlign {
			mem.Own(unsafe.Add(unsafe.Pointer(c), at))
		}
	}
}

package host

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// What a message with bulk is written to was read by its receiver last, and lies in that
// processor's cache: to write to it takes as long as to read what has come. A rank that waits
// for an answer fetches it meanwhile. The express lane does the same on the same words
// (express_prepare of package lanec).

// prepare does so for all ranks whose answers may be awaited.
func (f *Fabric) prepare() {
	for i := range f.in {
		if in := f.in[i]; in.unprepared() {
			in.prepare(&f.job.geo)
		}
	}
}

// unprepared reports whether there is something to prepare for the next message to the rank of an inbox.
func (in *inbox) unprepared() bool { return mem.WorthFetching(int(in.back.head.recent)) }

// prepare brings what a message to the rank of an inbox, as long as the last one, would be written to
// into the cache, until one from it is there; it returns up to where. That will be at the front again
// if the peer has read all by then, as who answers has. What it may be reading still must not
// be taken from it.
func (in *inbox) prepare(g *geometry) uint64 {
	h, n := in.back.head, int(in.back.head.recent)
	at := g.bulkPlace(h.bulkTail, bulkSize(n), g.stage())
	if n <= mostInFront && g.behindFront(h.bulkTail) {
		at = g.lap(h.bulkTail)
	}
	h.recent = 0
	for end := min(at+bulkSize(n), h.bulkCredit+g.bulk); at < end; at += bulkAlign {
		if _, _, come := in.peek(g); come {
			break
		}
		mem.Own(unsafe.Add(in.back.bulk, at&(g.bulk-1)))
	}
	return at
}

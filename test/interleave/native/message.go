//go:build interleave && cgo

package native

// #include <stdint.h>
// int native_send(void *table, uint64_t comm, const void *buf, uint32_t n, int32_t dest, int32_t tag);
// int native_receive(void *table, uint32_t place, void *buf, uint32_t room, uint32_t *size);
// uint32_t native_post(void *table, uint32_t place, void *buf, uint32_t room);
// int native_complete(void *table, void *port);
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// A path is what a rank's calls in C know of one peer: a channel each way, with one tag of one communicator.
type path struct {
	table fastpath.Table
	port  fastpath.Port
	peer  int32
	place uint32
}

const (
	comm = 1
	tag  = 0
)

// paths keeps what C has addresses of.
var paths *path

func pathOf(f *host.Fabric, peer int, fenced bool) *path {
	p := &path{peer: int32(peer), place: fastpath.Place(comm, int32(peer), tag)}
	paths = p
	t := &p.table
	t.Limit, t.Window = 1<<10, 1<<20
	if fenced {
		t.Fenced = 1
	}
	t.Rings.Cells, t.Rings.Shift, t.Rings.Bulk = f.Geometry()
	t.Doorbells, t.Step = f.Doorbells()
	p.port.Out, p.port.In = f.Wires(peer)
	p.port.World = int32(peer)
	t.Out[p.place] = fastpath.Channel{Comm: comm, Peer: p.peer, Tag: tag, Port: mem.Ref(&p.port), Leased: 1}
	t.In[p.place] = t.Out[p.place]
	return p
}

func (p *path) send(word uint64) bool {
	return C.native_send(unsafe.Pointer(&p.table), comm, unsafe.Pointer(&word), 8, C.int32_t(p.peer), tag) != 0
}

func (p *path) receive() (word uint64, ok bool) {
	var size C.uint32_t
	ok = C.native_receive(unsafe.Pointer(&p.table), C.uint32_t(p.place), unsafe.Pointer(&word), 8, &size) != 0
	return word, ok
}

// post makes a receive pending, and returns its slot; complete reports whether one has got its message.
func (p *path) post(word *uint64) int {
	return int(C.native_post(unsafe.Pointer(&p.table), C.uint32_t(p.place), unsafe.Pointer(word), 8)) - 1
}

func (p *path) complete() bool {
	return C.native_complete(unsafe.Pointer(&p.table), unsafe.Pointer(&p.port)) != 0
}

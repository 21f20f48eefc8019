//go:build interleave && cgo

package native

// #include <stdint.h>
// #include "layout.h"
// struct collective_area *native_area(uint64_t comm);
// struct collective_line *native_line(uint64_t comm, uint32_t rank);
// struct collective_slot *native_slot(uint64_t comm, uint64_t call, uint32_t rank);
// int native_barrier(uint64_t comm);
// int native_bcast(uint64_t comm, void *buf);
// int native_scatterv(uint64_t comm, const void *out, const int *counts, const int *displs, void *in);
// int native_allreduce(uint64_t comm, const void *out, void *in);
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// group are ranks that share an area, of which each has a communicator of its own in C: rank+1.
type group struct {
	areas []*shm.Area
	bells []C.struct_doorbell
}

// groups keeps what C has addresses of.
var groups *group

// groupOf makes an area of n ranks, each of which looks so often for what it waits for. The first slots are shared.
func groupOf(m *interleave.Memory, n, looks, slots int, fenced bool) *group {
	memory := mem.Bytes(make([]uint64, (shm.Fixed(n)+C.COLLECTIVE_DEPTH*n*mem.CacheLine)/8))
	g := &group{bells: make([]C.struct_doorbell, n)}
	groups = g
	for me := range n {
		a := shm.Open(memory, n, me, n, me)
		a.Fenced, a.Split, a.Spins = fenced, 1<<20, looks
		a.Read = func(int, uint64, []byte) bool { return false }
		a.Ring = func(rank int) {
			interleave.U32(g.bell(rank)).Add(1)
			interleave.FutexWake(g.bell(rank), 1)
		}
		v := (*shm.View)(unsafe.Pointer(C.native_area(C.uint64_t(me + 1))))
		a.View(v, func(coll.Collective) int { return 8 })
		v.ID, v.Bells, v.BellStep = uint64(me+1), mem.Ref(&g.bells[0]), uint32(unsafe.Sizeof(g.bells[0]))
		g.areas = append(g.areas, a)
		a.Spins = 0
		C.native_line(1, C.uint32_t(me)).core = 1 // where sanitizer.h says that all run
	}
	m.ShareBytes("header", memory[:unsafe.Sizeof(C.struct_collective_header{})])
	for me := range n {
		rank := C.uint32_t(me)
		m.Share(fmt.Sprintf("waiting %d", me), (*uint64)(&C.native_line(1, rank).waiting))
		m.Share(fmt.Sprintf("bell %d", me), &g.bells[me])
		for call := range slots {
			m.Share(fmt.Sprintf("slot %d of %d", me, call), C.native_slot(1, C.uint64_t(call), rank))
		}
	}
	return g
}

func (g *group) bell(rank int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&g.bells[rank].foreground))
}

// early is a mistake: no rank waits until a slot is free.
func (g *group) early() {
	for me := range g.areas {
		C.native_line(1, C.uint32_t(me)).known = 1 << 40
	}
}

// call makes a call in C, and reports whether it has been made there.
func (g *group) call(c *coll.Call) bool {
	comm, out, in := C.uint64_t(c.Rank+1), unsafe.Pointer(&c.Send[0]), unsafe.Pointer(&c.Recv[0])
	each, at := [...]C.int{1, 1}, [...]C.int{1, 0} // a Scatterv in another order
	switch c.Op {
	case coll.Barrier:
		return C.native_barrier(comm) != 0
	case coll.Bcast:
		return C.native_bcast(comm, in) != 0
	case coll.Scatterv:
		return C.native_scatterv(comm, out, &each[0], &at[0], in) != 0
	}
	return C.native_allreduce(comm, out, in) != 0
}

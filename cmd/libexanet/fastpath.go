//go:build mpich || openmpi || abi

package main

import "C" // for what is exported

import (
	"runtime"
	"unsafe"

	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
)

// The Go side of the fast path: short messages that c/calls.c moves without entering Go.

// fast is that of this process; path is nil if there is none. The table is an object of its own: one of that size
// begins a page, so where its cache lines begin does not depend on what else the library has.
var fast struct {
	path   inside.FastPath[mpi.Comm, mpi.Request]
	table  *fastpath.Table
	pinned runtime.Pinner
}

func init() { fast.table = new(fastpath.Table) } // not as the variable's value, which would lie among the others

// exanet_fast opens the fast path and returns the address of its table, 0 if there
// is none, and the handle of no request. size is that of the table as C has it.
//
//export exanet_fast
func exanet_fast(none unsafe.Pointer, size uint64) uint64 {
	if size != uint64(unsafe.Sizeof(*fast.table)) {
		return 0 // the other part of the library is of another version
	}
	fast.pinned.Pin(fast.table)
	if fast.path = within.OpenFastPath(world(), fast.table); fast.path == nil {
		return 0
	}
	lease(worldHandle, world())
	lease(selfHandle, world().Self())
	*handleAt(none) = noRequest
	return mem.Ref(fast.table)
}

// lease lets the channels of a communicator be leased under its handle.
func lease(h handle, c *mpi.Comm) {
	if fast.path != nil && c != nil {
		fast.path.Lease(c, uint64(h))
	}
}

// deferred returns the request with a number of the fast path, which from now on
// is carried on in Go.
func deferred(n int32) request {
	switch {
	case fast.path == nil:
		return request{}
	case n == fastpath.SentAll:
		return request{Request: fast.path.Sent(), comm: worldHandle}
	case n >= fastpath.FirstSlot+fastpath.Slots:
		return request{}
	}
	q, comm := fast.path.Request(int(n - fastpath.FirstSlot))
	return request{Request: q, comm: handle(comm)}
}

// giveBack gives up those of the numbers that are of the fast path, and returns
// the others.
func giveBack(numbers []int32) []int32 {
	others := numbers[:0]
	for _, n := range numbers {
		switch {
		case n < fastpath.FirstSlot:
			others = append(others, n)
		case n != fastpath.SentAll:
			fast.path.Release(int(n - fastpath.FirstSlot))
		}
	}
	return others
}

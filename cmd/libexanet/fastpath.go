//go:build mpich || openmpi

package main

import "C" // for what is exported

import (
	"runtime"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/fastpath"
	"github.com/exanet-mpi/exanet/mpi"
)

// The Go side of the fast path: short messages that c/calls.c moves without entering Go.

// fast is that of this process; its express is nil if there is none.
var fast struct {
	express *mpi.Express
	table   fastpath.Table
	pinned  runtime.Pinner
}

// exanet_fast opens the fast path and returns the address of its table, 0 if there
// is none, and the handle of no request. size is that of the table as C has it.
//
//export exanet_fast
func exanet_fast(none unsafe.Pointer, size uint64) uint64 {
	if size != uint64(unsafe.Sizeof(fast.table)) {
		return 0 // the other part of the library is of another version
	}
	fast.pinned.Pin(&fast.table)
	x, err := world().OpenExpress(&fast.table)
	if err != nil {
		return 0
	}
	fast.express = x
	lease(worldHandle, world())
	lease(selfHandle, world().Self())
	*handleAt(none) = noRequest
	return x.Address()
}

// lease lets the channels of a communicator be leased under its handle.
func lease(h handle, c *mpi.Comm) {
	if fast.express != nil && c != nil {
		fast.express.Lend(c, uint64(h))
	}
}

// deferred returns the request with a number of the fast path, which from now on
// is carried on in Go.
func deferred(n int32) request {
	switch {
	case fast.express == nil:
		return request{}
	case n == fastpath.SentAll:
		return request{Request: fast.express.Sent(), comm: worldHandle}
	case n >= fastpath.FirstSlot+fastpath.Slots:
		return request{}
	}
	q, comm := fast.express.Request(int(n - fastpath.FirstSlot))
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
			fast.express.Release(int(n - fastpath.FirstSlot))
		}
	}
	return others
}

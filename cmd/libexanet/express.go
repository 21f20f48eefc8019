//go:build mpich || openmpi

package main

// #include "host.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/variants/express"
)

// The Go side of the express lane: short messages that entry/lane.c moves without
// entering Go.

// lane is that of this process; its express is nil if there is none.
var lane struct {
	express *mpi.Express
	table   express.Table
	pinned  runtime.Pinner
}

// sentAll is the number of every send that has left on the express lane.
const sentAll = handleLimit - 1

// exanet_lane opens the express lane and returns the address of its table, 0 if there
// is none, and the handles of nothing. size is that of the table as C has it.
//
//export exanet_lane
func exanet_lane(none *C.struct_exanet_none, size uint64) uint64 {
	if size != uint64(unsafe.Sizeof(lane.table)) {
		return 0 // the other part of the library is of another version
	}
	lane.pinned.Pin(&lane.table)
	x, err := world().OpenExpress(&lane.table)
	if err != nil {
		return 0
	}
	lane.express = x
	lendLanes(worldHandle, world())
	lendLanes(selfHandle, world().Self())
	none.request, none.message = C.exanet_handle(noRequest), C.exanet_handle(noMessage)
	return x.Address()
}

// exanet_refill wakes a rank that had no room in its ring, which has been emptied.
//
//export exanet_refill
func exanet_refill(rank int32) { lane.express.Refill(int(rank)) }

// lendLanes lets the lanes of a communicator be lent under its handle.
func lendLanes(h handle, c *mpi.Comm) {
	if lane.express != nil && c != nil {
		lane.express.Lend(c, uint64(h))
	}
}

// expressed returns the request with a number of the express lane, which from now on
// is carried on in Go.
func expressed(n int32) request {
	switch {
	case lane.express == nil:
		return request{}
	case n == sentAll:
		return request{Request: lane.express.Sent(), comm: worldHandle}
	case n >= expressBase+express.Slots:
		return request{}
	}
	q, comm := lane.express.Request(int(n - expressBase))
	return request{Request: q, comm: handle(comm)}
}

// unexpress gives up those of the numbers that are of the express lane, and returns
// the others.
func unexpress(numbers []int32) []int32 {
	others := numbers[:0]
	for _, n := range numbers {
		switch {
		case n < expressBase:
			others = append(others, n)
		case n != sentAll:
			lane.express.Release(int(n - expressBase))
		}
	}
	return others
}

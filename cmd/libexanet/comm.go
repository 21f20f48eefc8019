//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
)

// communicators are ours beside the host's. When the host makes one of all ranks of another, each rank knows that
// there is one of ours, but it is made when it is first used, if it is.
var communicators objects[communicator]

type communicator struct {
	made     atomic.Pointer[mpi.Comm]
	mu       sync.Mutex // of who makes it
	reserved inside.Reserved[mpi.Comm]
}

// known returns our communicator beside the host's, nil if there is none.
func known(h handle) *mpi.Comm {
	n := communicators.get(h)
	if n == nil {
		return nil
	}
	if c := n.made.Load(); c != nil {
		return c
	}
	return n.make(h)
}

// make makes what has been reserved. If ranks have run out of numbers it is the host's, at all members.
func (n *communicator) make(h handle) *mpi.Comm {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.made.Load(); c != nil {
		return c
	}
	c, err := n.reserved.Make(membersOf(as[C.MPI_Comm](h)))
	if err != nil {
		return nil
	}
	lease(h, c)
	n.made.Store(c)
	return c
}

// commOf is known, but what is not ours is the host's, which must make progress for it.
func commOf(h handle) *mpi.Comm {
	if c := known(h); c != nil {
		return c
	}
	hostBusy.add(hostComm, h)
	return nil
}

// register adds a communicator.
func register(h handle, c *mpi.Comm) {
	n := new(communicator)
	n.made.Store(c)
	lease(h, c)
	communicators.set(h, n)
}

// exanet_adopt makes a communicator of ours beside the one that the host has made, or
// begun to make, of the members of parent. All members of parent call it, unless there is
// a tag, that of MPI_Comm_create_group: then all members of the new one do. request is the
// host's, if it has begun.
//
//export exanet_adopt
func exanet_adopt(parent handle, made unsafe.Pointer, tag int32, request unsafe.Pointer) int64 {
	comm := *handleAt(made)
	if request != nil {
		hostBusy.add(hostRequest, *handleAt(request))
	}
	of := commOf(parent)
	switch {
	case of == nil:
		hostBusy.add(hostComm, comm)
		return pass
	case tag == C.EXANET_PLAIN && of.Topology() == mpi.NoTopology:
		return result(parent, reserve(of, parent, comm))
	case comm == noComm:
		return pass
	}
	g, err := world().Group().Incl(numbers(membersOf(as[C.MPI_Comm](comm)))...)
	if err != nil {
		return result(parent, err)
	}
	var c *mpi.Comm
	if tag < 0 {
		c, err = of.Create(g)
	} else {
		c, err = of.CreateGroup(g, int(tag))
	}
	if err == nil {
		c, err = shaped(as[C.MPI_Comm](comm), c)
	}
	if err != nil {
		return result(parent, err)
	}
	C.exanet_inherit(as[C.MPI_Comm](parent), as[C.MPI_Comm](comm))
	register(comm, c)
	return 0
}

// reserve notes that there is one of ours beside a communicator that has been made of the ranks of parent.
func reserve(of *mpi.Comm, parent, comm handle) error {
	r, err := within.Reserve(of)
	if err != nil {
		return err
	}
	if comm == noComm {
		r.Drop()
		return nil
	}
	C.exanet_inherit(as[C.MPI_Comm](parent), as[C.MPI_Comm](comm))
	communicators.set(comm, &communicator{reserved: r})
	return nil
}

// membersOf reads the members of a communicator off the host: their ranks in the job.
func membersOf(comm C.MPI_Comm) []int32 {
	var of, all C.MPI_Group
	var n C.int
	C.PMPI_Comm_group(comm, &of)
	C.PMPI_Comm_group(C.exanet_world, &all)
	C.PMPI_Group_size(of, &n)
	from, to := make([]C.int, n), make([]int32, n)
	for i := range from {
		from[i] = C.int(i)
	}
	C.PMPI_Group_translate_ranks(of, n, unsafe.SliceData(from), all, (*C.int)(unsafe.SliceData(to)))
	C.PMPI_Group_free(&of)
	C.PMPI_Group_free(&all)
	return to
}

func world() *mpi.Comm { return known(worldHandle) }

// release gives up ours before the host gives up its own, whose handle may be used
// again at once.
func release(comm unsafe.Pointer) int64 {
	h := *handleAt(comm)
	n := communicators.get(h)
	if n == nil || h == worldHandle || h == selfHandle {
		hostBusy.drop(hostComm, h)
		return pass // the host says what is wrong with it, if anything is
	}
	communicators.set(h, nil)
	c := n.made.Load()
	if c == nil {
		n.reserved.Drop()
		return 0
	}
	shareArea(h, nil)
	return result(worldHandle, c.Free())
}

//export exanet_Comm_free
func exanet_Comm_free(comm unsafe.Pointer) int64 { return release(comm) }

//export exanet_Comm_disconnect
func exanet_Comm_disconnect(comm unsafe.Pointer) int64 { return release(comm) }

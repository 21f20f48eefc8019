//go:build mpich || openmpi

package main

// #include "host.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

var communicators objects[mpi.Comm]

// known returns our communicator beside the host's, nil if there is none.
func known(h handle) *mpi.Comm { return communicators.get(h) }

// commOf is known, but what is not ours is the host's, which must make progress for it.
func commOf(h handle) *mpi.Comm {
	if c := known(h); c != nil {
		return c
	}
	hostBusy.add(hostComm, h)
	return nil
}

// register adds a communicator; nil takes one away.
func register(h handle, c *mpi.Comm) {
	lease(h, c)
	shareArea(h, c)
	communicators.set(h, c)
}

// exanet_adopt makes a communicator of ours beside the one that the host has made
// of the members of parent. All members of the new one call it; they have all been
// told by the host who they are, so they agree on their number by themselves. tag
// is that of MPI_Comm_create_group, which other members of parent know nothing
// of, else -1.
//
//export exanet_adopt
func exanet_adopt(parent handle, made unsafe.Pointer, tag int32) int64 {
	comm := *handleAt(made)
	of := commOf(parent)
	if of == nil || comm == noComm {
		hostBusy.add(hostComm, comm)
		return pass
	}
	g, err := groupOf(as[C.MPI_Comm](comm))
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
	inherit(parent, comm)
	register(comm, c)
	return 0
}

// inherit gives a new communicator the error handler of its parent, as the standard
// says. MPICH gives some none, and means that of MPI_COMM_WORLD; but if it is told to
// call the handler of one, having none is fatal.
func inherit(parent, comm handle) {
	var h C.MPI_Errhandler
	if C.PMPI_Comm_get_errhandler(as[C.MPI_Comm](parent), &h) == C.MPI_SUCCESS {
		C.PMPI_Comm_set_errhandler(as[C.MPI_Comm](comm), h)
		C.PMPI_Errhandler_free(&h)
	}
}

// groupOf reads the members of a communicator off the host.
func groupOf(comm C.MPI_Comm) (*mpi.Group, error) {
	var of, all C.MPI_Group
	var n C.int
	C.PMPI_Comm_group(comm, &of)
	C.PMPI_Comm_group(C.exanet_world, &all)
	C.PMPI_Group_size(of, &n)
	from, to := make([]C.int, n), make([]C.int, n)
	for i := range from {
		from[i] = C.int(i)
	}
	C.PMPI_Group_translate_ranks(of, n, unsafe.SliceData(from), all, unsafe.SliceData(to))
	C.PMPI_Group_free(&of)
	C.PMPI_Group_free(&all)
	ranks := make([]int, n)
	for i, r := range to {
		ranks[i] = int(r)
	}
	return world().Group().Incl(ranks...)
}

func world() *mpi.Comm { return known(worldHandle) }

// release gives up ours before the host gives up its own, whose handle may be used
// again at once.
func release(comm unsafe.Pointer) int64 {
	h := *handleAt(comm)
	c := known(h)
	if c == nil || h == worldHandle || h == selfHandle {
		hostBusy.drop(hostComm, h)
		return pass // the host says what is wrong with it, if anything is
	}
	register(h, nil)
	return result(worldHandle, c.Free())
}

//export exanet_Comm_free
func exanet_Comm_free(comm unsafe.Pointer) int64 { return release(comm) }

//export exanet_Comm_disconnect
func exanet_Comm_disconnect(comm unsafe.Pointer) int64 { return release(comm) }

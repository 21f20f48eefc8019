//go:build mpich || openmpi

package main

// #include "host.h"
import "C"

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/exanet-mpi/exanet/cmd/libexanet/meet"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/mpi"
)

// How the ranks meet (thesis 3.2.1: there, too, the first exchange goes over what
// the MPI has already). Rank 0 makes the segment of the job. Every rank tells the
// others which host it is on; rank 0's host is that of all, or the whole job is
// left to the host MPI. Then rank 0 hands the segment out.

// verbose says that the user wants to know.
var verbose = os.Getenv("EXANET_VERBOSE") != ""

func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "exanet: "+format+"\n", a...) }

// exanet_start joins the ranks of the job and reports whether they are ours. All
// call it in MPI_Init, when the host MPI is up.
//
//export exanet_start
func exanet_start(level int32) int32 {
	var rank, size C.int
	C.PMPI_Comm_rank(C.exanet_world, &rank)
	C.PMPI_Comm_size(C.exanet_world, &size)
	why := start(int(rank), int(size), int(level))
	if why == nil {
		return 1
	}
	if rank == 0 {
		say("%v; the program runs over its own MPI", why)
	}
	return 0
}

func start(rank, size, level int) error {
	mine := meet.Card{Node: meet.Node()}
	var job *host.Job
	var offer *meet.Offer
	var err error
	if rank == 0 {
		if job, err = host.NewJob(size); err == nil {
			defer job.Close()
			rand.Read(mine.Socket[:])
			offer, err = meet.Give(job.File(), mine.Socket[:], size-1)
		}
	}
	if err != nil {
		mine.State = meet.Failing
	}
	all := make([]meet.Card, size)
	C.PMPI_Allgather(unsafe.Pointer(&mine), C.int(unsafe.Sizeof(mine)), C.exanet_byte, unsafe.Pointer(&all[0]), C.int(unsafe.Sizeof(mine)), C.exanet_byte, C.exanet_world)
	if why := meet.Refusal(all); why != nil {
		offer.Close()
		return errors.Join(why, err)
	}
	var segment *os.File
	if rank == 0 {
		segment, err = job.File(), offer.Wait()
	} else {
		segment, err = meet.Fetch(all[0].Socket[:])
	}
	if !agreed(err == nil) {
		if err == nil {
			err = fmt.Errorf("a rank could not get the job's memory")
		}
		return err
	}
	if rank != 0 {
		defer segment.Close()
	}
	levels := map[int]mpi.ThreadLevel{
		C.MPI_THREAD_SINGLE: mpi.ThreadSingle, C.MPI_THREAD_FUNNELED: mpi.ThreadFunneled,
		C.MPI_THREAD_SERIALIZED: mpi.ThreadSerialized, C.MPI_THREAD_MULTIPLE: mpi.ThreadMultiple,
	}
	w, err := mpi.Init(mpi.WithJob(segment, rank), mpi.WithThreadLevel(levels[level]))
	if !agreed(err == nil) {
		if err == nil {
			err = fmt.Errorf("a rank could not join the others")
		}
		return err
	}
	C.exanet_poll_begin()
	register(worldHandle, w)
	register(selfHandle, w.Self())
	var parent C.MPI_Comm
	if C.PMPI_Comm_get_parent(&parent); handleOf(parent) != noComm {
		hostBusy.Store(true) // who have spawned us are not ours
	}
	if verbose && rank == 0 {
		say("%d ranks, protocol %s", size, variant())
	}
	return nil
}

func variant() string {
	if v := os.Getenv("EXANET_VARIANT"); v != "" {
		return v
	}
	return mpi.DefaultVariant
}

// agreed reports whether all ranks say yes.
func agreed(yes bool) bool {
	var mine, all C.int
	if yes {
		mine = 1
	}
	C.PMPI_Allreduce(unsafe.Pointer(&mine), unsafe.Pointer(&all), 1, C.exanet_int, C.exanet_min, C.exanet_world)
	return all != 0
}

// exanet_finalize ends ours before the host ends: the ranks meet, while the host
// makes progress if need be, and what is still to be sent leaves.
//
//export exanet_finalize
func exanet_finalize() int64 {
	self := worldHandle
	defer C.exanet_poll_end()
	if hostBusy.Load() {
		if err := waitFor(world().Ibarrier()); err != nil {
			return result(self, err)
		}
	}
	return result(self, mpi.Finalize())
}

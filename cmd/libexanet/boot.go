//go:build mpich

package main

// #include "host.h"
import "C"

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/mpi"
)

// How the ranks meet (thesis 3.2.1: there, too, the first exchange goes over what
// the MPI has already). Rank 0 makes the segment of the job. Every rank tells the
// others which host it is on; rank 0's host is that of all, or the whole job is
// left to the host MPI. Then rank 0 hands the segment out through a socket in the
// abstract name space, which leaves no name behind.

// verbose says that the user wants to know.
var verbose = os.Getenv("EXANET_VERBOSE") != ""

func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "exanet: "+format+"\n", a...) }

// card is what a rank tells the others.
type card struct {
	node   [32]byte // what host it is on
	socket [31]byte // of rank 0: where to get the segment
	state  byte
}

// The states of a card, the worst last.
const (
	fit byte = iota
	failing
	fortran2008
)

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
	mine := card{node: node()}
	var job *host.Job
	var out *dispenser
	var err error
	if rank == 0 {
		if job, err = host.NewJob(size); err == nil {
			defer job.Close()
			rand.Read(mine.socket[:])
			out, err = dispense(job.File(), mine.socket[:], size-1)
		}
	}
	switch {
	case usesF08():
		mine.state = fortran2008
	case err != nil:
		mine.state = failing
	}
	all := make([]card, size)
	C.PMPI_Allgather(unsafe.Pointer(&mine), C.int(unsafe.Sizeof(mine)), C.exanet_byte, unsafe.Pointer(&all[0]), C.int(unsafe.Sizeof(mine)), C.exanet_byte, C.exanet_world)
	if why := refusal(all); why != nil {
		out.close()
		return errors.Join(why, err)
	}
	var segment *os.File
	if rank == 0 {
		segment, err = job.File(), out.wait()
	} else {
		segment, err = fetch(all[0].socket[:])
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
	register(uintptr(C.exanet_world), w)
	register(uintptr(C.exanet_self), w.Self())
	var parent C.MPI_Comm
	if C.PMPI_Comm_get_parent(&parent); parent != C.MPI_COMM_NULL {
		hostBusy.Store(true) // who have spawned us are not ours
	}
	if verbose && rank == 0 {
		say("%d ranks, protocol %s", size, variant())
	}
	return nil
}

// refusal says why the job is left to the host, nil if it is not.
func refusal(all []card) error {
	for i, c := range all {
		switch {
		case c.node != all[0].node:
			return fmt.Errorf("ranks 0 and %d are on different hosts", i)
		case c.state == fortran2008:
			return errors.New("the program uses mpi_f08, which is not intercepted")
		case c.state == failing:
			return fmt.Errorf("rank %d could not make the job's memory", i)
		}
	}
	return nil
}

// usesF08 reports whether the program calls the host's wrappers for mpi_f08, some of
// which do not come through the entry points of C.
func usesF08() bool {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return false
	}
	defer f.Close()
	symbols, _ := f.ImportedSymbols()
	return slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool {
		return strings.HasPrefix(s.Name, "mpi_") && (strings.HasSuffix(s.Name, "_f08_") || strings.HasSuffix(s.Name, "_f08ts_"))
	})
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

// node tells hosts apart, and containers whose sockets do not reach each other.
func node() [32]byte {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	net, _ := os.Readlink("/proc/self/ns/net")
	return sha256.Sum256(bytes.Join([][]byte{boot, []byte(net)}, []byte{0}))
}

// exanet_finalize ends ours before the host ends: the ranks meet, while the host
// makes progress if need be, and what is still to be sent leaves.
//
//export exanet_finalize
func exanet_finalize() int64 {
	self := uintptr(C.exanet_world)
	defer C.exanet_poll_end()
	if hostBusy.Load() {
		if err := waitFor(world().Ibarrier()); err != nil {
			return result(self, err)
		}
	}
	return result(self, mpi.Finalize())
}

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/cmd/libexanet/bootstrap"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/mpi"
)

// How the ranks meet (thesis 3.2.1: there, too, the first exchange goes over what
// the MPI has already). Rank 0 makes the segment of the job. Every rank shows a card
// to all, by the one collective of the host that this takes, see c/entry.c: if they
// do not fit, the whole job is left to the host MPI. Then rank 0 hands the segment
// out, and they agree by package bootstrap.

// verbose says that the user wants to know.
var verbose = !slices.Contains([]string{"", "0"}, os.Getenv("EXANET_VERBOSE"))

func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "exanet: "+format+"\n", a...) }

// starting is what this rank has made before it shows its card.
type starting struct {
	rank, size int
	level      mpi.ThreadLevel
	job        *host.Job         // of rank 0
	server     *bootstrap.Server // of rank 0
	err        error
}

var boot starting

// exanet_card fills in the card of this rank, when the host MPI is up.
//
//export exanet_card
func exanet_card(level int32, card unsafe.Pointer) {
	var rank, size C.int
	C.PMPI_Comm_rank(C.exanet_world, &rank)
	C.PMPI_Comm_size(C.exanet_world, &size)
	levels := map[int32]mpi.ThreadLevel{
		C.MPI_THREAD_SINGLE: mpi.ThreadSingle, C.MPI_THREAD_FUNNELED: mpi.ThreadFunneled,
		C.MPI_THREAD_SERIALIZED: mpi.ThreadSerialized, C.MPI_THREAD_MULTIPLE: mpi.ThreadMultiple,
	}
	b, mine := &boot, (*bootstrap.Card)(card)
	b.rank, b.size, b.level = int(rank), int(size), levels[level]
	*mine = bootstrap.Card{Node: bootstrap.Node()}
	// The segment is not there yet, but what is refused in jobs of others is.
	profile, err := within.Profile(mpi.WithThreadLevel(b.level), within.WithJob(os.Stdin, b.rank))
	if err == nil && rank == 0 {
		if b.job, err = host.NewJob(b.size); err == nil {
			_, err = unix.Getrandom(mine.Socket[:], 0)
		}
		if err == nil {
			b.server, err = bootstrap.Open(mine.Socket[:], b.size)
		}
	}
	mine.Profile = bootstrap.Digest([]byte(profile))
	if b.err = err; err != nil {
		mine.State = bootstrap.Failing
	}
}

// places is how many of Go's threads may run at once, at least. The program's threads keep theirs
// for a while when they have returned from a call, as the background does while it sleeps, until the
// runtime notices: it must not be one of those few that a call needs.
const places = 4

// exanet_start joins the ranks of the job, whose cards these are, and reports
// whether they are ours.
//
//export exanet_start
func exanet_start(cards unsafe.Pointer) int32 {
	b := &boot
	if b.job != nil {
		defer b.job.Close()
		defer b.server.Close()
	}
	why, speaker := bootstrap.Refusal(unsafe.Slice((*bootstrap.Card)(cards), b.size))
	if why != nil {
		if b.err != nil {
			why = fmt.Errorf("%w: %w", why, b.err)
		}
		if speaker == b.rank {
			say("%v; the program runs over its own MPI", why)
		}
		return 0
	}
	if runtime.GOMAXPROCS(0) < places {
		runtime.GOMAXPROCS(places)
	}
	name := (*bootstrap.Card)(cards).Socket[:]
	var w *mpi.Comm
	var all bool
	var err error
	if b.rank == 0 {
		w, all, err = b.receive()
	} else {
		w, all, err = b.connect(name)
	}
	if !all {
		// Those who failed know why; rank 0 speaks for all.
		if err != nil && (b.rank == 0 || verbose) {
			say("%v; the program runs over its own MPI", err)
		}
		return 0
	}
	C.exanet_begin()
	tagLimit()
	register(worldHandle, w)
	register(selfHandle, w.Self())
	var parent C.MPI_Comm
	C.PMPI_Comm_get_parent(&parent)
	hostBusy.add(hostComm, handleOf(parent))
	if verbose && b.rank == 0 {
		say("%d ranks, protocol %s", b.size, variant())
	}
	return 1
}

// receive is rank 0's part once the cards fit.
func (b *starting) receive() (w *mpi.Comm, all bool, err error) {
	// Who waits for this rank's place in the job learns so that it is not taken.
	if err := b.server.Serve(b.job.File(), b.size, excused); err != nil {
		b.job.MarkDead(0)
		return nil, false, err
	}
	b.server.Watch(b.job.MarkDead)
	w, err = b.join(b.job.File())
	if err != nil {
		b.job.MarkDead(0)
	}
	if all = b.server.Outcome(err == nil); !all && err == nil {
		err = errors.New("a rank could not join the others")
	}
	return w, all, err
}

// connect is the part of the others.
func (b *starting) connect(name []byte) (w *mpi.Comm, all bool, err error) {
	client, segment, err := bootstrap.Connect(name, b.rank)
	if client == nil {
		excuse()
		return nil, false, err
	}
	if err == nil {
		w, err = b.join(segment)
		segment.Close()
	}
	return w, client.Report(err == nil), err
}

func (b *starting) join(segment *os.File) (*mpi.Comm, error) {
	return mpi.Init(within.WithJob(segment, b.rank), within.WithOutside(&hostBusy.n, poll), within.WithPassed(passed),
		within.WithSite(site), mpi.WithThreadLevel(b.level), mpi.WithRecycling(), mpi.WithBufferRule(bufferRule))
}

// excuseTag is that of the message of a rank that cannot come to the server. While
// the ranks meet there are no others.
const excuseTag = 0

func excuse() {
	var none C.int
	C.PMPI_Send(unsafe.Pointer(&none), 0, C.exanet_int, 0, excuseTag, C.exanet_world)
}

// excused returns how many such messages have come.
func excused() (n int) {
	for {
		var flag, none C.int
		var st C.MPI_Status
		C.PMPI_Iprobe(C.MPI_ANY_SOURCE, excuseTag, C.exanet_world, &flag, &st)
		if flag == 0 {
			return n
		}
		C.PMPI_Recv(unsafe.Pointer(&none), 0, C.exanet_int, st.MPI_SOURCE, excuseTag, C.exanet_world, &st)
		n++
	}
}

func variant() string {
	if v := os.Getenv("EXANET_VARIANT"); v != "" {
		return v
	}
	return mpi.DefaultVariant
}

// exanet_finalize ends ours before the host ends: the ranks meet, while the host
// makes progress if need be, and what is still to be sent leaves.
//
//export exanet_finalize
func exanet_finalize() int64 {
	defer C.exanet_end()
	return result(worldHandle, mpi.Finalize())
}

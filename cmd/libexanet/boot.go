//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/exanet-mpi/exanet/emu/meet"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/mpi"
)

// How the ranks meet (thesis 3.2.1: there, too, the first exchange goes over what
// the MPI has already), by package meet. Every rank shows a card to all, by the one collective of the host that this
// takes on one host, see c/entry.c: if they do not fit, the whole job is left to the host MPI.

// verbose says that the user wants to know.
var verbose = !slices.Contains([]string{"", "0"}, os.Getenv("EXANET_VERBOSE"))

func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "exanet: "+format+"\n", a...) }

// starting is what this rank has made before it shows its card.
type starting struct {
	rank, size int
	level      mpi.ThreadLevel
	*meet.Meeting
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
	b := &boot
	b.rank, b.size, b.level = int(rank), int(size), levels[level]
	// The segment is not there yet, but what is refused in jobs of others is.
	profile, device, err := within.Profile(mpi.WithThreadLevel(b.level), within.WithJob(os.Stdin, b.rank, nil))
	b.Meeting, *(*meet.Card)(card) = meet.Begin(b.rank, b.size, profile, device, err)
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
	defer b.End()
	all := unsafe.Slice((*meet.Card)(cards), b.size)
	why, speaker := meet.Refusal(all)
	if why != nil {
		if err := b.Err(); err != nil {
			why = fmt.Errorf("%w: %w", why, err)
		}
		if speaker == b.rank {
			say("%v; the program runs over its own MPI", why)
		}
		return 0
	}
	if runtime.GOMAXPROCS(0) < places {
		runtime.GOMAXPROCS(places)
	}
	var w *mpi.Comm
	begin := func(place mpi.Option) (err error) {
		w, err = mpi.Init(place, within.WithOutside(&hostBusy.n, poll), within.WithPassed(passed),
			within.WithSite(site), mpi.WithThreadLevel(b.level), mpi.WithRecycling(), mpi.WithBufferRule(bufferRule))
		return err
	}
	var joined bool
	var err error
	device, host := os.Getenv(env.Device), hostMPI{b.size}
	if strings.HasPrefix(device, "registers:") {
		joined, err = b.Apart(host, func() error { return begin(within.WithRanks(b.rank, b.size, host.Gather)) })
	} else {
		joined, err = b.Join(all, host, device == "network", func(segment *os.File, p *net.Peers) error {
			return begin(within.WithJob(segment, b.rank, p))
		})
	}
	if !joined {
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

// hostMPI is the host as it shows ranks what others say (meet.Launcher).
type hostMPI struct{ size int }

// mostSaid is how many bytes a rank can say.
const mostSaid = 4096

// Gather implements meet.Launcher. A blocking collective of a host may spin, in the way of the rank that it waits for.
func (h hostMPI) Gather(mine []byte) (all [][]byte, failed error) {
	const block = 4 + mostSaid
	if len(mine) > mostSaid { // the others are to know, not to wait
		failed, mine = fmt.Errorf("rank %d has more to say than %d bytes", boot.rank, mostSaid), nil
	}
	out, in := make([]byte, block), make([]byte, h.size*block)
	binary.LittleEndian.PutUint32(out, uint32(len(mine)))
	copy(out[4:], mine)
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&out[0])
	pins.Pin(&in[0])
	var r C.MPI_Request
	if C.PMPI_Iallgather(unsafe.Pointer(&out[0]), block, C.exanet_byte, unsafe.Pointer(&in[0]), block, C.exanet_byte,
		C.exanet_world, &r) != C.MPI_SUCCESS {
		return nil, errors.New("the host MPI's MPI_Iallgather has failed")
	}
	for done := C.int(0); done == 0; time.Sleep(50 * time.Microsecond) {
		if C.exanet_test(&r, &done, nil) != C.MPI_SUCCESS {
			return nil, errors.New("the host MPI's MPI_Iallgather has failed")
		}
	}
	all = make([][]byte, h.size)
	for i := range all {
		b := in[i*block:][:block]
		all[i] = b[4:][:binary.LittleEndian.Uint32(b)]
	}
	return all, failed
}

// excuseTag is that of the message of a rank that cannot come to the server. While
// the ranks meet there are no others.
const excuseTag = 0

// Excuse implements meet.Launcher.
func (hostMPI) Excuse(leader int, _ error) {
	var none C.int
	C.PMPI_Send(unsafe.Pointer(&none), 0, C.exanet_int, C.int(leader), excuseTag, C.exanet_world)
}

// Excused implements meet.Launcher.
func (hostMPI) Excused() (n int) {
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

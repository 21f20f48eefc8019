// Package inside is what package mpi does for the rest of this module alone, and no program
// sees: for the preload library, for ranks in virtual time, and for those who measure
// algorithms. What unexported functions of package mpi do is here under their own names.
//
// Only package mpi can give them, and those who call them import it already. So mpi puts
// them here when it is initialised, and a caller takes them by
//
//	var within = inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option])
//
// This package cannot name the types of package mpi, which imports it; hence the parameters.
package inside

import (
	"os"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/variants"
)

// MPI is a *Functions, which package mpi has set.
var MPI any

// Functions are those of package mpi, as the types with these names are.
type Functions[Comm, Request, Message, Option any] struct {
	// WithJob makes mpi.Init take the place of a rank in a job that somebody else than our
	// launcher has started: another MPI, for instance. segment is the memory file that
	// host.NewJob has made, the same for all ranks of a host; it may be closed once Init has
	// returned. There are peers if ranks talk over a network. Whoever has started the job ends
	// it if a rank dies; where nobody does, the others learn of it after some seconds.
	WithJob func(segment *os.File, rank int, peers *net.Peers) Option

	// WithRanks makes mpi.Init take the place of a rank in such a job over registers, whose ranks need no memory in
	// common. show has all ranks show each other what they say, by rank; all call it once, also those that fail.
	WithRanks func(rank, size int, show func(mine []byte) ([][]byte, error)) Option

	// WithOutside lets the calls that wait also call poll, as long as busy is not 0. Who
	// changes busy from 0 calls Wake, which makes the calls of a rank that sleep look at it again.
	WithOutside func(busy *atomic.Int64, poll func()) Option
	Wake        func(world *Comm)

	// SharedArea tells code in C of a communicator's memory for collectives, and reports
	// whether there is any.
	SharedArea func(c *Comm, v *shm.View) bool

	// Reserve begins what the ranks of c do for communicators that another MPI has made of them, or is about
	// to make, in one call. All ranks of c call it, in the same order, and it waits for nobody. The ranks
	// share memory.
	Reserve func(c *Comm) (Reserved[Comm], error)

	// OpenFastPath opens the fast path of the rank of world for a table, which must not
	// move, nor go, as long as the process lives. From then on whoever has the rank's lock
	// has the table's as well. It is to be called before any other goroutine makes calls, and
	// returns nil where the protocol or the device has no fast path.
	OpenFastPath func(world *Comm, t *fastpath.Table) FastPath[Comm, Request]

	// WithPassed has the map, as it is at Finalize, in the statistics of EXANET_STATS.
	WithPassed func(calls map[string]uint64) Option

	// WithLikely has the protocol standing take every receive for one that repeats the last of its channel, for those
	// whose programs repeat few.
	WithLikely func() Option

	// WithSite has findings of the checking mode say where the program is, as site tells in each call, ""
	// if that is not known.
	WithSite func(site func() string) Option

	// MoreBuffer gives the buffered sends of the rank of c room for so many bytes more, or less
	// if size is negative, besides what AttachBuffer has given.
	MoreBuffer func(c *Comm, size int)

	// Profile returns what all ranks of a job must agree on, as text, for who wants to
	// know before mpi.Init, which refuses ranks that disagree. within is the device, if one was asked for that is
	// within one host, else "". The error is that which Init would return for the options or the environment.
	Profile func(opts ...Option) (text, within string, err error)

	// CheckSettings returns the first mistake in the EXANET_ variables of an environment, and what to do about it. With
	// here it also looks at what the ranks would find on this host: registers at a path, and the folder of
	// EXANET_STATS, which it makes. Else that may be on other hosts, and is no file on this one.
	CheckSettings func(environ []string, here bool) error

	// Sizes returns up to which sizes in bytes messages of the protocols customized and auto are eager, over the device
	// of an environment, and up to which they may leave copies.
	Sizes func(environ []string) (eager, hybrid int, err error)

	// Over makes n ranks over fabrics of the caller, who runs each of them by its Run: all
	// at the same time, in whatever way the fabrics wait. It is for networks that schedule
	// their ranks themselves.
	Over func(n int, end func(rank int) network.Fabric, main func(world *Comm) error, opts ...Option) ([]Process, error)

	// Primary joins the errors of ranks that did not merely notice that another has failed,
	// unless there are no others.
	Primary func(errs []error) error
}

// Reserved is a communicator of ours that has not been made yet. It ends with Make, or with Drop at a rank that
// is no member or does not need it. Both may wait until rank 0 of the parent has called Reserve as well.
type Reserved[Comm any] interface {
	// Make makes it of ranks of the job, of which the caller is one; nil: of all of the parent.
	Make(worlds []int32) (*Comm, error)
	Drop()
}

// FastPath is a rank's end of its fast path: what has become of the receives pending there.
type FastPath[Comm, Request any] interface {
	// Lease lets the channels of a communicator be leased under a handle, not 0, by
	// which the fast path knows it, from now until the communicator is freed.
	Lease(c *Comm, handle uint64)
	// Request returns the request of a slot that is in use, and the handle of its
	// communicator. The slot stays in use until Release, when the request has ended.
	Request(slot int) (q *Request, handle uint64)
	Release(slot int)
	// Sent returns a request as Isend makes it for a message that has left.
	Sent() *Request
}

// Process is a rank of Over.
type Process interface {
	// Run runs the rank to its end. Its error is that of its main function, or of
	// mpi.Finalize; a panic is an error as well.
	Run() error
	// Counters returns what the rank has counted.
	Counters() *variants.Counters
	// Waiting calls f with a line for everything of the rank that has not completed.
	Waiting(f func(line string))
}

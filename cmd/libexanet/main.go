// Command libexanet is the preload library: an MPI program that knows nothing of
// this stack runs over it, with LD_PRELOAD=libexanet-mpich.so in its environment, or -openmpi.so or -abi.so.
// "make preload" builds it; docs/preload.md tells what it does.
//
// It has two parts. The one that is preloaded (c) is C: an entry point for
// each function of functions.txt, written by the program in generate. The other
// is this package, as a shared library that the first loads in MPI_Init:
//
//	boot.go      how the ranks find each other, through the host MPI and package
//	             meet; MPI_Finalize
//	comm.go      communicators of ours beside the host's, made when they are used
//	datatype.go  datatypes, read off the host's
//	op.go        operators
//	p2p.go, probe.go, coll.go, neighbour.go  the calls
//	handle.go    handles of the host as numbers; host_mpich.go, host_openmpi.go, host_abi.go (the
//	             standard ABI), host_addresses.go and host.c have what differs between the hosts,
//	             for which the package is built with the tag mpich, openmpi or abi
//	request.go   requests and messages of ours; table.go, their numbers; look.go, looks at several
//	scratch.go   what calls need until they return
//	signals.go   which of a program's signals Go is not to unblock
//	wait.go, waitmany.go, waitany.go  waiting, for the host's requests too
//	status.go    statuses and error codes as the host has them
//
// The C is in c, as
//
//	layout.h    what C and Go share, written from the Go source (package layout)
//	handles.h   handles of the host MPI as numbers
//	lock.h, ring.h, doorbell.h   the biased lock, rings and doorbells
//	channel.c   messages of leased channels
//	wait.c      how a call waits
//	calls.c     the calls of MPI that are tried on the fast path
//	shared.c    collectives in shared memory
//	symbols.c   what the host MPI defines
//	errors.c    error handlers
//	signals.c, threads.c   the Go runtime as a guest of the program
//	entry.c     loads the Go part; the entry points themselves are written by the program in generate
//	fortran.c   what the entry points of Fortran are made of
//	session.c   one session for the ranks of a host
//
// where each includes only headers of those above it. host.c and host.h lie beside the Go part, since cgo compiles
// what is in the folder of its package.
//
// The host is the MPI that the program was built with. It makes every object;
// ours are found by the host's handle. A communicator is either known here, and
// then all its messages are ours; or it is not, and then they are the host's.
package main

import (
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
)

// within is what package mpi does for this module alone.
var within = inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option])

// main is never called: a shared library has one all the same.
func main() {}

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// pass is what the entry points take for "this concerns the host".
const pass = int64(-1)

// Ranks and tags that mean something else, as the host writes them and as we do.

func rankIn(r int32) int {
	switch r {
	case C.MPI_ANY_SOURCE:
		return mpi.AnySource
	case C.MPI_PROC_NULL:
		return mpi.ProcNull
	}
	if r < 0 {
		return -1 // nobody: what has a meaning is far from there
	}
	return int(r)
}

func rankOut(r int) C.int {
	switch r {
	case mpi.AnySource:
		return C.MPI_ANY_SOURCE
	case mpi.ProcNull:
		return C.MPI_PROC_NULL
	}
	return C.int(r)
}

func tagIn(t int32) int {
	if t == C.MPI_ANY_TAG {
		return mpi.AnyTag
	}
	return sentTag(t)
}

// sentTag is tagIn where there are no wildcards.
func sentTag(t int32) int {
	if t < 0 || t > maxTag {
		return -1 << 30
	}
	return int(t)
}

// maxTag is the host's largest tag, which may be less than ours.
var maxTag int32

func tagLimit() {
	var value unsafe.Pointer
	var found C.int
	C.PMPI_Comm_get_attr(C.exanet_world, C.MPI_TAG_UB, unsafe.Pointer(&value), &found)
	if maxTag = mpi.MaxTag; found != 0 {
		maxTag = int32(*(*C.int)(value))
	}
}

func tagOut(t int) C.int {
	if t == mpi.AnyTag {
		return C.MPI_ANY_TAG
	}
	return C.int(t)
}

// setStatus fills in a status of the host, if the caller wants it. MPI_ERROR stays
// as it is.
func setStatus(p unsafe.Pointer, st mpi.Status) {
	if p == nil {
		return
	}
	s := (*C.MPI_Status)(p)
	s.MPI_SOURCE, s.MPI_TAG = rankOut(st.Source), tagOut(st.Tag)
	cancelled := C.int(0)
	if st.Cancelled() {
		cancelled = 1
	}
	setSize(s, st.Bytes(), cancelled)
}

// emptyStatus is that of a request that is not active.
var emptyStatus = mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}

// statuses are those of an array, nil if nobody wants them.
func statuses(p unsafe.Pointer, n int32) []C.MPI_Status {
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice((*C.MPI_Status)(p), n)
}

// statusAt is one of them, if they are wanted.
func statusAt(sts []C.MPI_Status, i int) *C.MPI_Status {
	if sts == nil {
		return nil
	}
	return &sts[i]
}

func setFlag(p unsafe.Pointer, on bool) {
	*(*C.int)(p) = 0
	if on {
		*(*C.int)(p) = 1
	}
}

// classes are the error classes of the host for our errors.
var classes = []struct {
	err   error
	class C.int
}{
	{mpi.ErrProcFailed, C.EXANET_ERR_FAILED}, // whatever has come of it, as a message of the wrong size
	{mpi.ErrTruncate, C.MPI_ERR_TRUNCATE},
	{mpi.ErrNoMem, C.MPI_ERR_NO_MEM},
	{mpi.ErrRank, C.MPI_ERR_RANK},
	{mpi.ErrRoot, C.MPI_ERR_ROOT},
	{mpi.ErrTag, C.MPI_ERR_TAG},
	{mpi.ErrComm, C.MPI_ERR_COMM},
	{mpi.ErrType, C.MPI_ERR_TYPE},
	{mpi.ErrCount, C.MPI_ERR_COUNT},
	{mpi.ErrOp, C.MPI_ERR_OP},
	{mpi.ErrRequest, C.MPI_ERR_REQUEST},
	{mpi.ErrBuffer, C.MPI_ERR_BUFFER},
	{mpi.ErrArg, C.MPI_ERR_ARG},
	{mpi.ErrGroup, C.MPI_ERR_GROUP},
}

// deathTold is set when this rank has said that another one has died.
var deathTold atomic.Bool

// codeOf is the host's error code for an error.
func codeOf(err error) C.int {
	if err == nil {
		return C.MPI_SUCCESS
	}
	// The host has no text for what only we know.
	if verbose || errors.Is(err, mpi.ErrAssumption) || errors.Is(err, mpi.ErrNoMem) ||
		errors.Is(err, mpi.ErrProcFailed) && !deathTold.Swap(true) {
		say("%v", err)
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.class
		}
	}
	return C.MPI_ERR_OTHER
}

// failures are communicators whose error handlers the entry points are about to
// call. A result has no room for a handle of every host.
var failures table[handle]

// exanet_whose returns the communicator of a result.
//
//export exanet_whose
func exanet_whose(n int32) handle {
	defer failures.drop(n)
	return failures.get(n)
}

// result is what a call on a communicator returns.
func result(comm handle, err error) int64 {
	if err == nil {
		return 0
	}
	return failed(comm, codeOf(err))
}

// refused is what a call returns for which the arguments do not do, before anything
// has been sent: the host looks at them as well, and says what is wrong.
func refused(comm handle, err error) int64 {
	for _, e := range []error{errArgument, mpi.ErrRank, mpi.ErrTag, mpi.ErrCount} {
		if errors.Is(err, e) {
			return pass
		}
	}
	return result(comm, err)
}

// errArgument is in errors for arguments that the host refuses, too.
var errArgument = errors.New("the host does not take it")

// failed is a code and the communicator whose error handler is to be called. If the
// program has freed that, as it may while requests are under way, the host does not
// know it any more: MPI_COMM_WORLD stands in.
func failed(comm handle, code C.int) int64 {
	if known(comm) == nil {
		comm = worldHandle
	}
	return int64(failures.put(comm))<<32 | int64(code)
}

// hostFailed is the result of a call in which the host has called the error handler.
func hostFailed(code C.int) int64 { return int64(code) }

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

//export exanet_Waitany
func exanet_Waitany(n int32, p, index, status unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	switch {
	case l.passes():
		return pass
	case l.bad:
		return stray()
	case l.blocks():
		i, st, err := mpi.WaitAny(l.ours...)
		return l.one(i, st, err, index, status)
	}
	for {
		if r, done := l.testAny(index, status); done {
			return r
		}
		poll()
	}
}

//export exanet_Testany
func exanet_Testany(n int32, p, index, flag, status unsafe.Pointer) int64 {
	mark := fast.table.Tested.Load()
	l := severalOf(n, p)
	defer l.give()
	switch {
	case l.passes():
		return pass
	case l.bad:
		return stray()
	}
	r, done := l.testAny(index, status)
	setFlag(flag, done)
	if !done {
		*(*C.int)(index) = C.MPI_UNDEFINED
		pollHost()
		fast.table.Tested.Store(mark)
	}
	return r
}

// testAny ends one of the requests, if one has completed. It is also done if none
// is active.
func (l *several) testAny(index, status unsafe.Pointer) (r int64, done bool) {
	i, done, st, err := mpi.TestAny(l.ours...)
	if i >= 0 || err != nil || done && !l.mixed {
		return l.one(i, st, err, index, status), true
	}
	if !l.mixed {
		return 0, false
	}
	var flag C.int
	code := C.exanet_testany(C.int(len(l.host)), l.hostRequests(), (*C.int)(index), &flag, (*C.MPI_Status)(status))
	if i := *(*C.int)(index); flag != 0 && i != C.MPI_UNDEFINED {
		l.ended(int(i), (*C.MPI_Status)(status))
	}
	l.returned()
	none := *(*C.int)(index) == C.MPI_UNDEFINED
	return hostFailed(code), code != C.MPI_SUCCESS || flag != 0 && (!none || done)
}

// one tells the program of request i, which has ended, or of none.
func (l *several) one(i int, st mpi.Status, err error, index, status unsafe.Pointer) int64 {
	if i < 0 {
		*(*C.int)(index) = C.MPI_UNDEFINED
		setStatus(status, emptyStatus)
		return result(worldHandle, err)
	}
	*(*C.int)(index) = C.int(i)
	setStatus(status, st)
	l.end(i)
	return result(l.known[i].comm, err)
}

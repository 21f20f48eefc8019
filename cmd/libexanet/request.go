//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/mpi"
)

// request is a request of ours as the program sees it.
type request struct {
	*mpi.Request
	comm       handle // whose error handler is to be called
	persistent bool
	op         *userOp // that it calls, and holds; nil: none of the program's
}

var (
	requests table[request]
	messages table[message]
)

// message is one that a matched probe has found.
type message struct {
	*mpi.Message
	comm handle
}

// made gives the program the handle of a new request.
func made(q *mpi.Request, err error, comm handle, persistent bool, out unsafe.Pointer) int64 {
	if err != nil {
		return result(comm, err)
	}
	return kept(request{q, comm, persistent, nil}, out)
}

func kept(q request, out unsafe.Pointer) int64 {
	fast.table.Tested.Store(0) // the number may have been in use before
	*handleAt(out) = requestHandle(requests.put(q))
	return 0
}

// requestOf returns the request of a handle, none if it is the host's. A handle of
// ours that is not in use has no Request, which every call refuses.
func requestOf(h handle) (q request, mine bool) {
	fast.table.Tested.Store(0) // a call that may change it
	n := requestNumber(h)
	if n == 0 {
		return request{}, false
	}
	return requestAt(n), true
}

// ended takes back the handle of a request that has ended, unless it can be
// started again.
func ended(h *handle, q request) {
	if !q.persistent {
		dropRequests(requestNumber(*h))
		*h = noRequest
	}
}

// requestAt returns the request with a number, none if it is not in use.
func requestAt(n int32) request {
	if n >= fastpath.FirstSlot {
		return deferred(n)
	}
	return requests.get(n)
}

// dropRequests gives numbers up, and what their requests hold.
func dropRequests(numbers ...int32) {
	numbers = giveBack(numbers)
	for _, n := range numbers {
		requests.place(n).op.release()
	}
	requests.drop(numbers...)
}

func stray() int64 { return failed(worldHandle, C.MPI_ERR_REQUEST) }

//export exanet_Start
func exanet_Start(p unsafe.Pointer) int64 {
	q, mine := requestOf(*handleAt(p))
	switch {
	case !mine:
		hostBusy.add(hostRequest, *handleAt(p))
		return pass
	case q.Request == nil:
		return stray()
	}
	return result(q.comm, q.Start())
}

//export exanet_Startall
func exanet_Startall(n int32, p unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	switch {
	case !l.some:
		for _, h := range l.handles {
			hostBusy.add(hostRequest, h)
		}
		return pass
	case !slices.Contains(l.ours, nil):
		return result(l.known[0].comm, mpi.StartAll(l.ours...))
	}
	for i := range l.handles {
		if r := exanet_Start(unsafe.Pointer(&l.handles[i])); r == pass {
			if code := C.PMPI_Start((*C.MPI_Request)(unsafe.Pointer(&l.handles[i]))); code != C.MPI_SUCCESS {
				return hostFailed(code)
			}
		} else if r != 0 {
			return r
		}
	}
	return 0
}

//export exanet_Cancel
func exanet_Cancel(p unsafe.Pointer) int64 {
	q, mine := requestOf(*handleAt(p))
	switch {
	case !mine:
		return pass
	case q.Request == nil:
		return stray()
	}
	return result(q.comm, q.Cancel())
}

//export exanet_Request_free
func exanet_Request_free(p unsafe.Pointer) int64 {
	h := handleAt(p)
	q, mine := requestOf(*h)
	switch {
	case !mine:
		hostBusy.drop(hostRequest, *h)
		return pass
	case q.Request == nil:
		return stray()
	}
	if err := q.Free(); err != nil {
		return result(q.comm, err)
	}
	dropRequests(requestNumber(*h))
	*h = noRequest
	return 0
}

//export exanet_Request_get_status
func exanet_Request_get_status(h handle, flag, status unsafe.Pointer) int64 {
	q, mine := requestOf(h)
	switch {
	case !mine && hostBusy.has(hostRequest, h):
		st, done, code := hostBusy.status(h)
		if done && status != nil {
			*(*C.MPI_Status)(status) = st
		}
		setFlag(flag, done)
		return hostFailed(code)
	case !mine:
		return pass
	case q.Request == nil:
		return stray()
	}
	done, st := q.Status()
	if !done {
		pollHost()
	} else {
		setStatus(status, st)
	}
	setFlag(flag, done)
	return 0
}

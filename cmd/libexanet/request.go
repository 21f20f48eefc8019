//go:build mpich

package main

// #include "host.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// Handles of ours are numbers that MPICH never uses: the two highest bits of its
// handles tell how the object is stored, and are not 0 but for the null handles,
// whose other bits tell the kind of object. Ours have nothing there but, in
// messages, a kind that MPICH does not have.
const (
	handleLimit = 1 << 26
	messageKind = 0xf << 26
)

// request is a request of ours as the program sees it.
type request struct {
	*mpi.Request
	comm       uintptr // whose error handler is to be called
	persistent bool
}

// table gives numbers to objects; 0 is none.
type table[T any] struct {
	sync.Mutex
	items []T
	free  []int32
}

func (t *table[T]) put(v T) int32 {
	t.Lock()
	defer t.Unlock()
	if n := len(t.free); n > 0 {
		h := t.free[n-1]
		t.free = t.free[:n-1]
		t.items[h-1] = v
		return h
	}
	if len(t.items) == handleLimit-1 {
		panic("exanet: 67 million requests are under way")
	}
	t.items = append(t.items, v)
	return int32(len(t.items))
}

// get returns the zero T for a number that is not in use.
func (t *table[T]) get(h int32) (v T) {
	if h > 0 && h < handleLimit {
		t.Lock()
		if int(h) <= len(t.items) {
			v = t.items[h-1]
		}
		t.Unlock()
	}
	return v
}

func (t *table[T]) drop(h int32) {
	var none T
	t.Lock()
	t.items[h-1] = none
	t.free = append(t.free, h)
	t.Unlock()
}

var (
	requests table[request]
	messages table[*message]
)

// message is one that a matched probe has found.
type message struct {
	*mpi.Message
	comm uintptr
}

// made gives the program the handle of a new request.
func made(q *mpi.Request, err error, comm uintptr, persistent bool, out unsafe.Pointer) int64 {
	if err != nil {
		return result(comm, err)
	}
	*(*C.MPI_Request)(out) = C.MPI_Request(requests.put(request{q, comm, persistent}))
	return 0
}

// isOurs reports whether a handle can only be one of ours.
func isOurs(h C.MPI_Request) bool { return h > 0 && h < handleLimit }

// requestOf returns the request of a handle, none if it is the host's. A handle of
// ours that is not in use has no Request, which every call refuses.
func requestOf(h C.MPI_Request) (q request, mine bool) {
	if !isOurs(h) {
		if h != C.exanet_no_request {
			hostBusy.Store(true)
		}
		return request{}, false
	}
	return requests.get(int32(h)), true
}

// ended takes back the handle of a request that has ended, unless it can be
// started again.
func ended(h *C.MPI_Request, q request) {
	if !q.persistent {
		requests.drop(int32(*h))
		*h = C.exanet_no_request
	}
}

func stray() int64 { return failed(uintptr(C.exanet_world), C.MPI_ERR_REQUEST) }

//export exanet_Start
func exanet_Start(p unsafe.Pointer) int64 {
	q, mine := requestOf(*(*C.MPI_Request)(p))
	switch {
	case !mine:
		return pass
	case q.Request == nil:
		return stray()
	}
	return result(q.comm, q.Start())
}

//export exanet_Startall
func exanet_Startall(n int32, p unsafe.Pointer) int64 {
	if n <= 0 {
		return pass
	}
	handles := unsafe.Slice((*C.MPI_Request)(p), n)
	some := false
	for i := range handles {
		some = some || isOurs(handles[i])
	}
	if !some {
		hostBusy.Store(true)
		return pass
	}
	for i := range handles {
		if r := exanet_Start(unsafe.Pointer(&handles[i])); r == pass {
			if code := C.PMPI_Start(&handles[i]); code != C.MPI_SUCCESS {
				return int64(code) // the host has called the error handler
			}
		} else if r != 0 {
			return r
		}
	}
	return 0
}

//export exanet_Cancel
func exanet_Cancel(p unsafe.Pointer) int64 {
	q, mine := requestOf(*(*C.MPI_Request)(p))
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
	h := (*C.MPI_Request)(p)
	q, mine := requestOf(*h)
	switch {
	case !mine:
		return pass
	case q.Request == nil:
		return stray()
	}
	if err := q.Free(); err != nil {
		return result(q.comm, err)
	}
	requests.drop(int32(*h))
	*h = C.exanet_no_request
	return 0
}

//export exanet_Request_get_status
func exanet_Request_get_status(handle uintptr, flag, status unsafe.Pointer) int64 {
	q, mine := requestOf(C.MPI_Request(handle))
	switch {
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

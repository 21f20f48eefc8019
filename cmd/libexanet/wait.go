//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/mpi"
)

// pollHost lets the host make progress if anything may depend on it. Calls of ours
// that wait do the same by themselves, see inside.Functions.WithOutside.
func pollHost() {
	if hostBusy.any() {
		poll()
	}
}

func poll() {
	C.exanet_poll()
}

//export exanet_Wait
func exanet_Wait(p, status unsafe.Pointer) int64 {
	h := handleAt(p)
	q, mine := requestOf(*h)
	switch {
	case !mine && hostBusy.keep(*h, nil) != nil:
		was := *h
		code := C.exanet_wait((*C.MPI_Request)(unsafe.Pointer(h)), (*C.MPI_Status)(status))
		hostBusy.end(was, (*C.MPI_Status)(status))
		return hostFailed(code)
	case !mine:
		hostBusy.drop(hostRequest, *h)
		return pass
	case q.Request == nil:
		return stray()
	}
	st, err := q.Wait()
	setStatus(status, st)
	ended(h, q)
	return result(q.comm, err)
}

//export exanet_Test
func exanet_Test(p, flag, status unsafe.Pointer) int64 {
	h, mark := handleAt(p), fast.table.Tested.Load()
	q, mine := requestOf(*h)
	switch {
	case !mine && hostBusy.has(hostRequest, *h):
		return testHost(h, flag, status)
	case !mine:
		return pass
	case q.Request == nil:
		return stray()
	}
	done, st, err := q.Test()
	if err != nil {
		done = true
	}
	setFlag(flag, done)
	if !done {
		pollHost()
		fast.table.Tested.Store(mark)
		return 0
	}
	setStatus(status, st)
	ended(h, q)
	return result(q.comm, err)
}

// testHost tests a request of the host's that is counted.
func testHost(h *handle, flag, status unsafe.Pointer) int64 {
	was := *h
	code := C.exanet_test((*C.MPI_Request)(unsafe.Pointer(h)), (*C.int)(flag), (*C.MPI_Status)(status))
	if code != C.MPI_SUCCESS || *(*C.int)(flag) != 0 {
		hostBusy.end(was, (*C.MPI_Status)(status))
	}
	return hostFailed(code)
}

// several is the array of requests of a call.
type several struct {
	handles []handle
	known   []request
	ours    []*mpi.Request // nil where it is not ours
	host    []handle       // empty unless mixed
	out     []mpi.Completion
	over    []int32 // numbers of those that have ended for good
	some    bool    // one of them is ours
	counted bool    // one of the host's is counted, see hostBusy
	kept    bool    // one of the host's is known to have completed
	mixed   bool    // others are the host's
	bad     bool    // one is none of ours, although its handle could be
}

var arrays pool[several]

// severalOf looks at the requests of a call, until it gives them back.
func severalOf(n int32, p unsafe.Pointer) *several {
	l := arrays.take()
	if n <= 0 {
		return l
	}
	l.handles = unsafe.Slice(handleAt(p), n)
	for _, h := range l.handles {
		if requestNumber(h) != 0 {
			l.some = true
		} else if h != noRequest {
			l.mixed = true
			l.counted = l.counted || hostBusy.has(hostRequest, h)
			l.kept = l.kept || hostBusy.keep(h, nil) != nil
		}
	}
	if l.passes() {
		return l
	}
	room(&l.known, int(n))
	room(&l.ours, int(n))
	if l.mixed {
		room(&l.host, int(n))
	}
	for i, h := range l.handles {
		if number := requestNumber(h); number != 0 {
			l.known[i] = requestAt(number)
			l.ours[i] = l.known[i].Request
			l.bad = l.bad || l.ours[i] == nil
			h = noRequest
		}
		if l.mixed {
			l.host[i] = h
		}
	}
	return l
}

// passes reports whether the call is the host's alone.
func (l *several) passes() bool { return !l.some && !l.counted }

// give ends the call.
func (l *several) give() {
	for i := range l.ours { // sends that have left have a request for this call alone
		if l.ours[i] != nil && requestNumber(l.handles[i]) == fastpath.SentAll {
			_, _ = l.ours[i].Wait()
		}
	}
	dropRequests(l.over...)
	clear(l.known)
	clear(l.ours)
	clear(l.out)
	*l = several{known: l.known[:0], ours: l.ours[:0], host: l.host[:0], out: l.out[:0], over: l.over[:0]}
	arrays.give(l)
}

// hostRequests are those of the host, as its calls take them.
func (l *several) hostRequests() *C.MPI_Request { return (*C.MPI_Request)(unsafe.Pointer(&l.host[0])) }

// returned copies what the host has made of its requests.
func (l *several) returned() {
	for i := range l.host {
		if l.ours[i] == nil {
			if l.handles[i] != l.host[i] {
				hostBusy.drop(hostRequest, l.handles[i])
			}
			l.handles[i] = l.host[i]
		}
	}
}

// ended takes note that request i has ended, which is the host's, if it is none of ours.
func (l *several) ended(i int, st *C.MPI_Status) {
	if l.ours[i] == nil && l.handles[i] != noRequest {
		hostBusy.end(l.handles[i], st)
	}
}

// end takes note that request i, which is ours, has ended. Its number can be used
// again when the call has ended.
func (l *several) end(i int) {
	if !l.known[i].persistent {
		l.over = append(l.over, requestNumber(l.handles[i]))
		l.handles[i] = noRequest
	}
}

// blocks reports whether the call may wait for ours alone.
func (l *several) blocks() bool { return !l.mixed }

// pending calls f with the host's requests that have not completed, until it returns false. One
// that is wrong will be found out by the call that ends it.
func (l *several) pending(f func(h handle) bool) {
	for _, h := range l.host {
		if h == noRequest {
			continue
		}
		if _, done, code := hostBusy.status(h); !done && code == C.MPI_SUCCESS && !f(h) {
			return
		}
	}
}

// hostDone looks, without ending anything, whether all of the host's requests have
// completed.
func (l *several) hostDone() bool {
	done := true
	l.pending(func(handle) bool {
		done = false
		return false
	})
	return done
}

// push lets the host make progress with its requests. Those of files make none in
// other calls, under some hosts.
func (l *several) push() {
	l.pending(func(h handle) bool {
		C.exanet_push(as[C.MPI_Request](h))
		return true
	})
}

// oursDone looks, without ending anything, whether all of ours have completed.
func (l *several) oursDone() bool {
	for _, q := range l.ours {
		if q == nil {
			continue
		}
		if done, _ := q.Status(); !done {
			return false
		}
	}
	return true
}

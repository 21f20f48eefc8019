//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// hostBusy is what there is of the host's for which it must make progress while we
// wait: windows, requests under way, communicators that are not ours.
var hostBusy busy

// busy counts such objects. Requests and communicators are remembered by their
// handles, since some are made, or end, in calls that do not come by here: one that
// is met later is added then, and none is counted twice.
type busy struct {
	n       atomic.Int64 // what WithOutside looks at
	mu      sync.Mutex
	objects map[object]*C.MPI_Status // that of a request that is known to have completed
}

type object struct {
	kind objectKind
	h    handle
}

type objectKind byte

const (
	hostComm objectKind = iota
	hostRequest
)

// any reports whether there is something.
func (b *busy) any() bool { return b.n.Load() != 0 }

func (b *busy) count(n int64) {
	if b.n.Add(n) == n {
		within.Wake(world()) // who sleeps has not looked at the host yet
	}
}

func (b *busy) add(kind objectKind, h handle) {
	if h == noComm && kind == hostComm || h == noRequest && kind == hostRequest {
		return
	}
	b.mu.Lock()
	_, known := b.objects[object{kind, h}]
	if b.objects == nil {
		b.objects = make(map[object]*C.MPI_Status)
	}
	b.objects[object{kind, h}] = nil
	b.mu.Unlock()
	if !known {
		b.count(1)
	}
}

func (b *busy) drop(kind objectKind, h handle) {
	b.take(object{kind, h})
}

// take is drop; it returns the status of a request that is known to have completed.
func (b *busy) take(o object) *C.MPI_Status {
	if !b.any() {
		return nil
	}
	b.mu.Lock()
	kept, known := b.objects[o]
	delete(b.objects, o)
	b.mu.Unlock()
	if known {
		b.count(-1)
	}
	return kept
}

// end takes note that a request of the host's has ended, with a status that somebody may want. MPICH since
// 4.2 forgets that of a persistent receive once status has looked at it.
func (b *busy) end(h handle, st *C.MPI_Status) {
	kept := b.take(object{hostRequest, h})
	if kept == nil || st == nil {
		return
	}
	code := st.MPI_ERROR
	*st = *kept
	st.MPI_ERROR = code
}

func (b *busy) has(kind objectKind, h handle) bool {
	if !b.any() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.objects[object{kind, h}]
	return known
}

// status looks, without ending it, whether a request of the host's has completed. MPICH since 4.1
// must not be asked again about one of a file that has: the answer is kept until the request ends.
func (b *busy) status(h handle) (st C.MPI_Status, done bool, code C.int) {
	if kept := b.keep(h, nil); kept != nil {
		return *kept, true, C.MPI_SUCCESS
	}
	var flag C.int
	code = C.PMPI_Request_get_status(as[C.MPI_Request](h), &flag, &st)
	if done = flag != 0; done && code == C.MPI_SUCCESS {
		b.keep(h, &st)
	}
	return st, done, code
}

// keep returns the status of a request that is known to have completed, or takes note of it.
func (b *busy) keep(h handle, now *C.MPI_Status) *C.MPI_Status {
	if !b.any() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := object{hostRequest, h}
	kept, known := b.objects[q]
	if known && now != nil {
		b.objects[q] = now
	}
	return kept
}

// exanet_made_comm is called when the host has made a communicator of which none of
// ours is made.
//
//export exanet_made_comm
func exanet_made_comm(comm unsafe.Pointer) { hostBusy.add(hostComm, *handleAt(comm)) }

// exanet_made_request is called when the host has begun a request.
//
//export exanet_made_request
func exanet_made_request(req unsafe.Pointer) { hostBusy.add(hostRequest, *handleAt(req)) }

// exanet_windows is called when a window has been made or freed: 1 or -1.
//
//export exanet_windows
func exanet_windows(n int32) {
	if windows.Add(int64(n)) >= 0 {
		hostBusy.count(int64(n))
	} else {
		windows.Add(1) // we have not seen how it was made
	}
}

var windows atomic.Int64

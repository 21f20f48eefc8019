//go:build linux

// Package fastc lets tests in Go call the steps of the fast path in C, which they hold against the protocol and the
// fabric whose work those do. The C files are links to those of cmd/libexanet/c: the go command builds again, and tests
// again, when files of the package change, but not when files elsewhere do that they include.
package fastc

// #cgo CFLAGS: -D_GNU_SOURCE
// #include "channel.h"
// #include "lock.h"
// #include <sched.h>
//
// static long count(struct biased_lock *l, uint64_t *counts, long n)
// {
// 	long differed = 0;
// 	for (long i = 0; i < n; i++) {
// 		while (!lock_enter(l))
// 			sched_yield();
// 		differed += ((volatile uint64_t *)counts)[0]++ != ((volatile uint64_t *)counts)[1]++;
// 		lock_leave(l);
// 		if (i % 100 == 0)
// 			sched_yield();
// 	}
// 	return differed;
// }
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/fastpath"
)

// Path is the C side of a table.
type Path struct{ t *C.struct_fast_table }

// Of returns the C side of a table.
func Of(t *fastpath.Table) Path { return Path{(*C.struct_fast_table)(unsafe.Pointer(t))} }

func first(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// Enter takes the lock as a call does, and reports whether it could; Leave gives it back.
func (p Path) Enter() bool { return C.lock_enter(&p.t.lock) != 0 }
func (p Path) Leave()      { C.lock_leave(&p.t.lock) }

// Count takes the lock n times, waiting for it where it is shut, adds one to each of two counts that are no atomic
// ones, and returns how often it found them to differ. Now and then it lets another thread run.
func (p Path) Count(counts *[2]uint64, n int) (differed int) {
	return int(C.count(&p.t.lock, (*C.uint64_t)(unsafe.Pointer(counts)), C.long(n)))
}

// Thread is mem.Thread.
func Thread() uint64 { return uint64(C.this_thread()) }

// Send sends b to dest, and reports whether the fast path has taken it.
func (p Path) Send(comm uint64, b []byte, dest, tag int32) bool {
	return C.fast_send(p.t, C.uint64_t(comm), first(b), C.uint32_t(len(b)), C.int32_t(dest), C.int32_t(tag)) != 0
}

func (p Path) find(comm uint64, source, tag int32) *C.struct_fast_channel {
	return C.channel_find(&p.t.in[0], C.uint64_t(comm), C.int32_t(source), C.int32_t(tag))
}

// Receive receives into b what is there from source, if the channel is leased and no receive is pending on it.
func (p Path) Receive(comm uint64, b []byte, source, tag int32) (n int, ok bool) {
	ch := p.find(comm, source, tag)
	if ch == nil || ch.pending != 0 {
		return 0, false
	}
	var size C.uint32_t
	ok = C.fast_receive(p.t, ch, first(b), C.uint32_t(len(b)), &size) != 0
	return int(size), ok
}

// Post makes a receive into b pending, whose memory must stay, and returns its slot.
func (p Path) Post(comm uint64, b []byte, source, tag int32) (slot int, ok bool) {
	ch := p.find(comm, source, tag)
	if ch == nil {
		return 0, false
	}
	at := C.fast_post(p.t, ch, first(b), C.uint32_t(len(b)))
	return int(at) - 1, at != 0
}

// Arrived takes news of credit from a peer, and reports whether another message is there.
func (p Path) Arrived(port *fastpath.Port) bool {
	return C.fast_arrived(p.t, (*C.struct_fast_port)(unsafe.Pointer(port))) != 0
}

// Complete completes a pending receive by the next message of a peer.
func (p Path) Complete(port *fastpath.Port) bool {
	return C.fast_complete(p.t, (*C.struct_fast_port)(unsafe.Pointer(port))) != 0
}

// Prefetch does what a call does that is about to wait for a peer.
func (p Path) Prefetch(port *fastpath.Port) {
	C.ring_prefetch(&p.t.rings, C.ring_at(C.uint64_t(port.Out)))
}

// Release gives a slot back.
func (p Path) Release(slot int) { C.fast_release(p.t, &p.t.slots[slot]) }

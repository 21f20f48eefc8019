// Package lanec has the steps of the express lane (package express), which are C:
// express.h and steps.c, that the preload library is built with. From Go they are
// called by tests alone, which hold them against the protocol and the fabric whose
// work they do.
package lanec

// #include "express.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/variants/express"
)

// Lane is the C side of a table.
type Lane struct{ t *C.struct_express_table }

// Of returns the C side of a table, whose layout must be the same there.
func Of(t *express.Table) Lane {
	if unsafe.Sizeof(*t) != C.sizeof_struct_express_table || unsafe.Sizeof(express.Port{}) != C.sizeof_struct_express_port {
		panic("lanec: the tables differ in Go and in C")
	}
	return Lane{(*C.struct_express_table)(unsafe.Pointer(t))}
}

func first(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// Send sends b on the lane to dest, and reports whether the lane has taken it and
// whether the bell of the peer is up.
func (l Lane) Send(comm uint64, b []byte, dest, tag int32) (sent, ring bool) {
	var world C.int32_t
	r := C.express_send(l.t, C.uint64_t(comm), first(b), C.uint32_t(len(b)), C.int32_t(dest), C.int32_t(tag), &world)
	return r != C.EXPRESS_REFUSED, r == C.EXPRESS_RUNG
}

func (l Lane) find(comm uint64, source, tag int32) *C.struct_express_lane {
	return C.express_find(&l.t.in[0], C.uint64_t(comm), C.int32_t(source), C.int32_t(tag))
}

// Receive receives into b what is there from source, if the lane is lent and free.
func (l Lane) Receive(comm uint64, b []byte, source, tag int32) (n int, ok, starved bool) {
	lane := l.find(comm, source, tag)
	if lane == nil || lane.noted != 0 {
		return 0, false, false
	}
	var size C.uint32_t
	var world C.int32_t
	r := C.express_receive(l.t, lane, first(b), C.uint32_t(len(b)), &size, &world)
	return int(size), r != C.EXPRESS_REFUSED, r == C.EXPRESS_STARVED
}

// Note notes a receive into b, whose memory must stay, and returns its slot.
func (l Lane) Note(comm uint64, b []byte, source, tag int32) (slot int, ok bool) {
	lane := l.find(comm, source, tag)
	if lane == nil {
		return 0, false
	}
	at := C.express_note(l.t, lane, first(b), C.uint32_t(len(b)))
	return int(at) - 1, at != 0
}

// Progress completes a noted receive by the next message of the peer at port.
func (l Lane) Progress(port *express.Port) (done, starved bool) {
	var world C.int32_t
	r := C.express_progress(l.t, (*C.struct_express_port)(unsafe.Pointer(port)), &world)
	return r != C.EXPRESS_REFUSED, r == C.EXPRESS_STARVED
}

// Release gives a slot back.
func (l Lane) Release(slot int) { C.express_release(l.t, C.uint32_t(slot)) }

// Stage is what a step of a rendezvous has found.
type Stage int

// The stages.
const (
	Waiting  Stage = C.EXPRESS_WAITING
	Complete Stage = C.EXPRESS_COMPLETE
	Over     Stage = C.EXPRESS_OVER
)

// How a receive wants its message.
const (
	Exact = uint64(1) << 63
	Alone = uint64(1) << 62
)

// Advertise advertises b, whose memory must stay, to source; 0 if that cannot be.
func (l Lane) Advertise(comm uint64, b []byte, source, tag int32, how uint64, now int64) uint64 {
	lane := l.find(comm, source, tag)
	if lane == nil || lane.noted != 0 {
		return 0
	}
	return uint64(C.express_advertise(lane, first(b), C.uint64_t(len(b)), C.uint64_t(how), C.int64_t(now)))
}

// Read is the receive's turn in what it has advertised to the peer at port. ok is false if the lane is not lent any more.
func (l Lane) Read(comm uint64, source, tag int32, word uint64) (stage Stage, size int, ok bool) {
	lane := l.find(comm, source, tag)
	if lane == nil {
		return 0, 0, false
	}
	var n C.uint32_t
	stage = Stage(C.express_read(lane, C.uint64_t(word), &n))
	return stage, int(n), true
}

// GiveUpRead ends a receive that a send has claimed.
func (l Lane) GiveUpRead(comm uint64, source, tag int32, word uint64) Stage {
	return Stage(C.express_give_up_read(l.find(comm, source, tag), C.uint64_t(word)))
}

// Withdraw takes an advertisement to the peer at port back, and reports whether it is over.
func Withdraw(port *express.Port, word uint64) bool {
	return C.express_withdraw((*C.struct_express_port)(unsafe.Pointer(port)), C.uint64_t(word)) != 0
}

// Cancel ends an advertisement to the peer at port.
func Cancel(port *express.Port, word uint64) {
	C.express_cancel((*C.struct_express_port)(unsafe.Pointer(port)), C.uint64_t(word))
}

// Claim claims what dest has advertised for b, whose memory must stay; 0 if there is nothing.
func (l Lane) Claim(comm uint64, b []byte, dest, tag int32, now int64) uint64 {
	lane := C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag))
	if lane == nil {
		return 0
	}
	return uint64(C.express_claim(lane, first(b), C.uint64_t(len(b)), C.int64_t(now)))
}

// Write is the send's turn in what it has claimed.
func (l Lane) Write(comm uint64, dest, tag int32, word uint64) Stage {
	return Stage(C.express_write(C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag)), C.uint64_t(word)))
}

// GiveUpWrite ends it.
func (l Lane) GiveUpWrite(comm uint64, dest, tag int32, word uint64) Stage {
	return Stage(C.express_give_up_write(C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag)), C.uint64_t(word)))
}

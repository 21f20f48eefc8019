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

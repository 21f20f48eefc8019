// Package lanec has the steps of the express lane (package express), which are C:
// express.h and steps.c, that the preload library is built with. From Go they are
// called by tests alone, which hold them against the protocol and the fabric whose
// work they do.
package lanec

// #cgo CFLAGS: -D_GNU_SOURCE
// #include "express.h"
// #include <sched.h>
//
// static void add(const void *in, void *inout, size_t n)
// {
// 	for (size_t i = 0; i < n / 4; i++)
// 		((uint32_t *)inout)[i] += ((const uint32_t *)in)[i];
// }
//
// static struct express_advert advertise(struct express_lane *l, void *buf, uint32_t room, uint32_t how, const char *own, int64_t now)
// {
// 	struct express_combination c = {add, own};
// 	return express_advertise(l, buf, room, how, own ? &c : 0, now);
// }
//
// static enum express_stage read_(struct express_lane *l, struct express_advert a, const char *own, int64_t now, uint32_t *size)
// {
// 	struct express_combination c = {add, own};
// 	return express_read(l, a, now, own ? &c : 0, size);
// }
//
// static enum express_stage write_(struct express_lane *l, struct express_advert a, const char *own)
// {
// 	struct express_combination c = {add, own};
// 	return express_write(l, a, 0, own ? &c : 0);
// }
//
// static long count(struct express_table *t, uint64_t *counts, long n)
// {
// 	long differed = 0;
// 	for (long i = 0; i < n; i++) {
// 		while (!express_enter(t))
// 			sched_yield();
// 		differed += ((volatile uint64_t *)counts)[0]++ != ((volatile uint64_t *)counts)[1]++;
// 		express_leave(t);
// 		if (i % 100 == 0)
// 			sched_yield();
// 	}
// 	return differed;
// }
//
// static int combined(struct express_advert a) { return (a.at->room & EXPRESS_COMBINED) != 0; }
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

// Enter takes the gate as a call does, and reports whether it could; Leave gives it back.
func (l Lane) Enter() bool { return C.express_enter(l.t) != 0 }
func (l Lane) Leave()      { C.express_leave(l.t) }

// Count takes the gate n times, waiting for it where it is shut, adds one to each of two counts that are no atomic ones,
// and returns how often it found them to differ. Now and then it lets another thread run.
func (l Lane) Count(counts *[2]uint64, n int) (differed int) {
	return int(C.count(l.t, (*C.uint64_t)(unsafe.Pointer(counts)), C.long(n)))
}

// Thread is mem.Thread.
func Thread() uint64 { return uint64(C.express_thread()) }

// Prepare prepares the bulk space for a message to a peer, and returns up to where; ok is false if
// there is nothing to prepare.
func (l Lane) Prepare(p *express.Port) (end uint64, ok bool) {
	port := (*C.struct_express_port)(unsafe.Pointer(p))
	if C.express_unprepared(port) == 0 {
		return 0, false
	}
	return uint64(C.express_prepare(l.t, port)), true
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

// ReceiveAny is Receive for a tag that may be any, if no message waits in the protocol. tag is that of
// the message.
func (l Lane) ReceiveAny(comm uint64, b []byte, source int32) (n int, tag int32, ok bool) {
	if l.t.strays != 0 {
		return 0, 0, false
	}
	var size C.uint32_t
	var world C.int32_t
	var other *C.struct_express_port
	lane := C.express_sift(l.t, C.uint64_t(comm), C.int32_t(source), C.EXPRESS_ANY, &size, &other)
	if lane == nil {
		return 0, 0, false
	}
	r := C.express_receive(l.t, lane, first(b), C.uint32_t(len(b)), &size, &world)
	return int(size), int32(lane.tag), r != C.EXPRESS_REFUSED
}

// Note notes a receive into b, whose memory must stay, and returns its slot.
func (l Lane) Note(comm uint64, b []byte, source, tag int32) (slot int, ok bool) {
	lane := l.find(comm, source, tag)
	if lane == nil || C.express_vacant(l.t) == 0 {
		return 0, false
	}
	at := C.express_note(l.t, lane, first(b), C.uint32_t(len(b)), C.struct_express_advert{})
	return int(at) - 1, at != 0
}

// NoteAdvertised is Note for a receive that is advertised; ok is false if that cannot be.
func (l Lane) NoteAdvertised(comm uint64, b []byte, source, tag int32, now int64) (slot int, ok bool) {
	lane := l.find(comm, source, tag)
	if lane == nil || C.express_vacant(l.t) == 0 {
		return 0, false
	}
	a := C.express_advertise(lane, first(b), C.uint32_t(len(b)), 0, nil, C.int64_t(now))
	if a.word == 0 {
		return 0, false
	}
	return int(C.express_note(l.t, lane, first(b), C.uint32_t(len(b)), a)) - 1, true
}

// Noted is the receive's turn in what the oldest noted one of a lane has advertised, and ends that
// if it is complete. ok is false if there is none, or nobody has come to it.
func (l Lane) Noted(comm uint64, source, tag int32, now int64) (slot int, stage Stage, ok bool) {
	s, lane := l.oldest(comm, source, tag)
	if s == nil || s.advert.word == 0 || C.express_met(s.advert) == 0 {
		return 0, 0, false
	}
	var n C.uint32_t
	stage = Stage(C.express_read(lane, s.advert, C.int64_t(now), nil, &n))
	return l.ended(s, stage, n), stage, true
}

// GiveUpNoted ends a noted receive whose rendezvous Noted has seen claimed.
func (l Lane) GiveUpNoted(comm uint64, source, tag int32) (slot int, stage Stage) {
	s, lane := l.oldest(comm, source, tag)
	n := s.advert.at.size
	stage = Stage(C.express_give_up_read(lane, s.advert))
	return l.ended(s, stage, n), stage
}

func (l Lane) oldest(comm uint64, source, tag int32) (*C.struct_express_slot, *C.struct_express_lane) {
	lane := l.find(comm, source, tag)
	if lane == nil {
		return nil, nil
	}
	return C.express_oldest(l.t, C.uint32_t((uintptr(unsafe.Pointer(lane))-uintptr(unsafe.Pointer(&l.t.in[0])))/unsafe.Sizeof(*lane))), lane
}

func (l Lane) ended(s *C.struct_express_slot, stage Stage, n C.uint32_t) (slot int) {
	switch stage {
	case Complete:
		C.express_done(l.t, s, n)
	case Over:
		s.advert.word = 0
	}
	return int((uintptr(unsafe.Pointer(s)) - uintptr(unsafe.Pointer(&l.t.slots[0]))) / unsafe.Sizeof(*s))
}

// Waits says to the peer at port whether this rank waits for noted receives.
func (l Lane) Waits(port *express.Port, waits bool) {
	var w C.uint32_t
	if waits {
		w = 1
	}
	C.express_waits(C.uint64_t(port.In), w)
}

// Progress completes a noted receive by the next message of the peer at port.
func (l Lane) Progress(port *express.Port) (done, starved bool) {
	var world C.int32_t
	r := C.express_progress(l.t, (*C.struct_express_port)(unsafe.Pointer(port)), &world)
	return r != C.EXPRESS_REFUSED, r == C.EXPRESS_STARVED
}

// Credit takes a message of the peer at port that tells what it has consumed, if that is the next.
func (l Lane) Credit(port *express.Port) (done, starved bool) {
	var world C.int32_t
	r := C.express_credit(l.t, (*C.struct_express_port)(unsafe.Pointer(port)), &world)
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
	Stale    Stage = C.EXPRESS_STALE
)

// How a receive wants its message.
const (
	Exact   = uint32(1) << 31
	Awaited = uint32(1) << 29
	Next    = uint32(1) << 28
)

// Advert is what both sides know a rendezvous by; and, if it adds 32-bit words, what a side adds.
type Advert struct {
	a   C.struct_express_advert
	own []byte
}

// Ok reports whether there is one.
func (a Advert) Ok() bool { return a.a.word != 0 }

// Advertise advertises b, whose memory must stay, to source, if that can be. To what comes own is
// added, unless it is nil.
func (l Lane) Advertise(comm uint64, b, own []byte, source, tag int32, how uint32, now int64) (a Advert) {
	lane := l.find(comm, source, tag)
	if lane != nil && lane.noted == 0 {
		a.a, a.own = C.advertise(lane, first(b), C.uint32_t(len(b)), C.uint32_t(how), (*C.char)(first(own)), C.int64_t(now)), own
	}
	return a
}

// Read is the receive's turn in what it has advertised to the peer at port. ok is false if the lane is not lent any more.
func (l Lane) Read(comm uint64, source, tag int32, a Advert, now int64) (stage Stage, size int, ok bool) {
	lane := l.find(comm, source, tag)
	if lane == nil {
		return 0, 0, false
	}
	var n C.uint32_t
	stage = Stage(C.read_(lane, a.a, (*C.char)(first(a.own)), C.int64_t(now), &n))
	return stage, int(n), true
}

// GiveUpRead ends a receive that a send has claimed.
func (l Lane) GiveUpRead(comm uint64, source, tag int32, a Advert) Stage {
	return Stage(C.express_give_up_read(l.find(comm, source, tag), a.a))
}

// Withdraw takes an advertisement to the peer at port back, and reports whether it is over.
func Withdraw(port *express.Port, a Advert) bool {
	return C.express_withdraw((*C.struct_express_port)(unsafe.Pointer(port)), a.a) != 0
}

// Cancel ends an advertisement to the peer at port.
func Cancel(port *express.Port, a Advert) {
	C.express_cancel((*C.struct_express_port)(unsafe.Pointer(port)), a.a)
}

// Claim claims what dest has advertised for b, whose memory must stay, if there is something.
func (l Lane) Claim(comm uint64, b []byte, dest, tag int32, now int64) (a Advert) {
	lane := C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag))
	if lane != nil {
		a.a = C.express_claim(lane, first(b), C.uint32_t(len(b)), 0, C.int64_t(now))
	}
	if a.Ok() && C.combined(a.a) != 0 {
		a.own = b
	}
	return a
}

// GoOn is Claim for a send that goes on, and returns its slot.
func (l Lane) GoOn(comm uint64, b []byte, dest, tag int32, now int64) (slot int, ok bool) {
	lane := C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag))
	if lane == nil || C.express_vacant(l.t) == 0 {
		return 0, false
	}
	a := C.express_claim(lane, first(b), C.uint32_t(len(b)), 1, C.int64_t(now))
	if a.word == 0 {
		return 0, false
	}
	return int(C.express_go_on(l.t, lane, first(b), C.uint32_t(len(b)), a)) - 1, true
}

// Push is the turn of a send that has gone on, and ends it if it is complete.
func (l Lane) Push(slot int, now int64) Stage {
	s := &l.t.slots[slot]
	stage := Stage(C.express_write(C.express_lane_of(l.t, s), s.advert, C.int64_t(now), nil))
	switch stage {
	case Complete:
		C.express_sent(l.t, s)
	case Over:
		s.advert.word = 0
	}
	return stage
}

// Write is the send's turn in what it has claimed.
func (l Lane) Write(comm uint64, dest, tag int32, a Advert) Stage {
	return Stage(C.write_(C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag)), a.a, (*C.char)(first(a.own))))
}

// GiveUpWrite ends it.
func (l Lane) GiveUpWrite(comm uint64, dest, tag int32, a Advert) Stage {
	return Stage(C.express_give_up_write(C.express_find(&l.t.out[0], C.uint64_t(comm), C.int32_t(dest), C.int32_t(tag)), a.a))
}

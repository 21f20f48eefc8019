//go:build interleave && cgo

// Package native has the C code of the preload library ask package interleave for each
// access to memory. The compiler instruments it as for its thread sanitizer, whose
// functions are here (sanitizer.c): an atomic operation is a call, and a plain access
// is announced by one. The code is links to that of cmd/libexanet/c, of whose changes the go command knows.
package native

// #cgo CFLAGS: -O1 -fsanitize=thread -Wno-tsan -D_GNU_SOURCE
// #include <stdint.h>
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/test/interleave"
)

// What sanitizer.c asks for.
const (
	load = iota
	store
	swap
	add
	and
	or
	compareAndSwap
	fence
	reads
	writes
	wait
	wake
)

//export interleaved
func interleaved(what, order C.int, p unsafe.Pointer, size C.long, v, old C.uint64_t) C.uint64_t {
	o := [...]interleave.Order{
		interleave.Relaxed, interleave.Acquire, interleave.Acquire, interleave.Release, interleave.AcqRel,
		interleave.SeqCst,
	}[order]
	switch what {
	case fence:
		interleave.Fence(o)
		return 0
	case reads:
		interleave.ReadBytes(p, uintptr(size))
		return 0
	case writes:
		interleave.Writes(p, uintptr(size))
		return 0
	case wait:
		interleave.FutexWait((*atomic.Uint32)(p), uint32(v))
		return 0
	case wake:
		interleave.FutexWake((*atomic.Uint32)(p), int(v))
		return 0
	}
	if size == 4 {
		return C.uint64_t(apply(interleave.P((*uint32)(p)).With(o), what, uint32(v), uint32(old)))
	}
	return C.uint64_t(apply(interleave.P((*uint64)(p)).With(o), what, uint64(v), uint64(old)))
}

func apply[T uint32 | uint64](w interleave.Ordered[T], what C.int, v, old T) T {
	switch what {
	case load:
		return w.Load()
	case store:
		w.Store(v)
		return 0
	case swap:
		return w.Swap(v)
	case add:
		return w.Add(v) - v
	case and:
		return w.And(v)
	case or:
		return w.Or(v)
	}
	return w.Update(old, v)
}

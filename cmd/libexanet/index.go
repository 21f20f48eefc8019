//go:build mpich || openmpi

package main

import "math/bits"

// index finds objects by the host's handles, which every call has to do twice. It
// is not changed: who reads it takes no lock.
type index[T any] struct {
	slots []slot[T] // as many as a power of two, half of them empty
	shift int
}

type slot[T any] struct {
	h  handle
	to *T // nil: empty
}

func indexOf[T any](m map[handle]*T) *index[T] {
	width := bits.Len(uint(2*len(m) + 1))
	x := &index[T]{make([]slot[T], 1<<width), 64 - width}
	for h, v := range m {
		if v != nil {
			*x.slot(h) = slot[T]{h, v}
		}
	}
	return x
}

// slot is where a handle is, or the empty one where it would be.
func (x *index[T]) slot(h handle) *slot[T] {
	const golden = 0x9e3779b97f4a7c15 // spreads handles, which have few bits that differ
	for i := uint64(h) * golden >> x.shift; ; i++ {
		if s := &x.slots[i&uint64(len(x.slots)-1)]; s.to == nil || s.h == h {
			return s
		}
	}
}

// get returns the object of a handle, nil if there is none.
func (x *index[T]) get(h handle) *T { return x.slot(h).to }

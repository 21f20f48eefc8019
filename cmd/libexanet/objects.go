//go:build mpich || openmpi || abi

package main

import (
	"sync"
	"sync/atomic"
)

// objects are ours beside those of the host's, by its handles. To look one up takes no lock: what hangs in a
// bucket never changes, but is replaced.
type objects[T any] struct {
	mu      sync.Mutex // of those who replace
	buckets [1 << bucketBits]atomic.Pointer[link[T]]
}

type link[T any] struct {
	h    handle
	v    *T
	next *link[T]
}

const (
	bucketBits = 10
	mixer      = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
)

func (o *objects[T]) bucket(h handle) *atomic.Pointer[link[T]] {
	return &o.buckets[uint64(h)*mixer>>(64-bucketBits)]
}

// get returns the object of a handle, nil if there is none.
func (o *objects[T]) get(h handle) *T {
	for e := o.bucket(h).Load(); e != nil; e = e.next {
		if e.h == h {
			return e.v
		}
	}
	return nil
}

// set gives a handle an object, or none with nil.
func (o *objects[T]) set(h handle, v *T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, all := o.bucket(h), (*link[T])(nil)
	if v != nil {
		all = &link[T]{h, v, nil}
	}
	for e := b.Load(); e != nil; e = e.next {
		if e.h != h {
			all = &link[T]{e.h, e.v, all}
		}
	}
	b.Store(all)
}

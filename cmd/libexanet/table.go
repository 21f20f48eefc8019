//go:build mpich || openmpi || abi

package main

import (
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/fastpath"
)

// table gives numbers to objects; 0 is none. To look one up takes no lock: its place
// never moves, and only the call that uses a number last gives it up.
type table[T any] struct {
	mu     sync.Mutex
	chunks atomic.Pointer[[]*[chunk]T] // replaced when it grows
	used   int32                       // numbers that have been given out, and perhaps dropped since
	free   []int32
}

const chunk = 1024

// place is where the object of a number is, nil if it was never given out.
func (t *table[T]) place(h int32) *T {
	c := t.chunks.Load()
	if i := int(h-1) / chunk; h > 0 && c != nil && i < len(*c) {
		return &(*c)[i][int(h-1)%chunk]
	}
	return nil
}

func (t *table[T]) put(v T) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.free)
	if n == 0 {
		t.more()
		n = len(t.free)
	}
	h := t.free[n-1]
	t.free = t.free[:n-1]
	*t.place(h) = v
	return h
}

// more makes a chunk of free numbers, the lowest of which is the next.
func (t *table[T]) more() {
	if t.used+chunk >= fastpath.FirstSlot {
		panic("exanet: 33 million requests are under way")
	}
	var all []*[chunk]T
	if c := t.chunks.Load(); c != nil {
		all = *c
	}
	all = append(all, new([chunk]T)) // who reads the shorter list sees nothing of it
	t.chunks.Store(&all)
	for i := int32(chunk); i > 0; i-- {
		t.free = append(t.free, t.used+i)
	}
	t.used += chunk
}

// get returns the zero T for a number that is not in use.
func (t *table[T]) get(h int32) (v T) {
	if p := t.place(h); p != nil {
		v = *p
	}
	return v
}

func (t *table[T]) drop(numbers ...int32) {
	if len(numbers) == 0 {
		return
	}
	var none T
	t.mu.Lock()
	for _, h := range numbers {
		*t.place(h) = none
	}
	t.free = append(t.free, numbers...)
	t.mu.Unlock()
}

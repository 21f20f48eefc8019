//go:build mpich || openmpi || abi

package main

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
)

// What a call needs until it returns comes from pools, so that the calls of a
// program leave the collector nothing to do. Any number of threads may be in calls
// at once.

// pool keeps values for reuse. Whoever gives one back has no use for it any more.
type pool[T any] struct{ spare sync.Pool }

func (p *pool[T]) take() *T {
	if v, ok := p.spare.Get().(*T); ok {
		return v
	}
	return new(T)
}

func (p *pool[T]) give(v *T) { p.spare.Put(v) }

// lists are arrays of a call's arguments: room for n values more at a time.
type lists struct {
	numbers []int
	types   []*datatype.Type
}

func (l *lists) reset() {
	clear(l.types)
	l.numbers, l.types = l.numbers[:0], l.types[:0]
}

// room returns n more elements of a list. Earlier ones stay where they are.
func room[T any](list *[]T, n int) []T {
	at := len(*list)
	*list = slices.Grow(*list, n)[:at+n]
	return (*list)[at : at+n : at+n]
}

// ints reads an array of n numbers, of 64 bits if large.
func (l *lists) ints(p unsafe.Pointer, n int, large int32) []int {
	if p == nil {
		return nil
	}
	v := room(&l.numbers, n)
	for i := range v {
		if large != 0 {
			v[i] = int(unsafe.Slice((*int64)(p), n)[i])
		} else {
			v[i] = int(unsafe.Slice((*int32)(p), n)[i])
		}
	}
	return v
}

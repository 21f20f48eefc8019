package mem

import (
	"sync/atomic"
	"unsafe"
)

// Words are words at equal distances, one a rank for instance, which somebody waits
// for: until each is at least so much. Words only grow.
type Words struct {
	First  *uint64 // that has not been seen
	Stride int     // bytes
	N      int     // words, the first and so on
	Skip   int     // the index of one that does not count, negative: none
	Least  uint64
}

// There looks on, and reports whether all words have come.
func (w *Words) There() bool {
	for w.N > 0 {
		if w.Skip != 0 && atomic.LoadUint64(w.First) < w.Least {
			return false
		}
		if w.N--; w.N > 0 {
			w.First = (*uint64)(unsafe.Add(unsafe.Pointer(w.First), w.Stride))
			w.Skip--
		}
	}
	return true
}

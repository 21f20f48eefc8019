package mem

import "unsafe"

// Own brings the cache line of p to this processor, which is about to write to it: a hint
// that stores nothing.
//
//go:noescape
func Own(p unsafe.Pointer)

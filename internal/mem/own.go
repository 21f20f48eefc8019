package mem

import "unsafe"

//go:noescape
func own(p unsafe.Pointer)

// Own brings the cache line of p to this processor, which is about to write to it: a hint
// that stores nothing.
func Own(p unsafe.Pointer) { own(p) }

package mem

import "unsafe"

// Own makes the cache line of p, a word, this processor's own by a store there: nobody else writes
// to it, nor reads it from now. What another processor has read of what this one has written they
// have both, and a hint that it is to be written (PREFETCHW) leaves it so on Zen 4: only a store takes
// the other's away, and where it takes long all later ones wait behind it, whatever they are for.
func Own(p unsafe.Pointer) { *(*uint64)(p) = 0 }

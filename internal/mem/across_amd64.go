//go:build !race

package mem

import "unsafe"

// Across is copy for data that go to another core, or come from it, between memory that both use and the
// program's: they do not overlap. AMD's processors write whole lines without fetching them
// from the cache of who has read them if a copy is one string instruction, which Go's copy never is. With cores
// that share no cache it takes a third of the time then. Others do better without. What is stored behind it is
// seen behind it, as behind any copy.
func Across(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n > inVectors && amd {
		across(&dst[0], &src[0], n)
		return n
	}
	return copy(dst, src)
}

// Up to so many bytes vector instructions are as fast.
const inVectors = 2048

//go:noescape
func across(dst, src *byte, n int)

// GoesAround is 1 if Around is another copy than Across.
const GoesAround = 1

// Around is Across past the caches: the data are written to memory, and what a cache has of the lines is dropped.
// Stores behind it are seen behind it.
func Around(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n < shortest {
		return copy(dst, src)
	}
	head := copy(dst[:n], src[:-uintptr(unsafe.Pointer(&dst[0]))&(vector-1)])
	streams := (n - head) &^ (CacheLine - 1)
	around(&dst[head], &src[head], streams)
	copy(dst[head+streams:n], src[head+streams:])
	return n
}

const (
	vector   = 16
	shortest = 2 * CacheLine // that has a line to be streamed, wherever it begins
)

// around copies n bytes, whole lines, to an address that is one of a vector.
//
//go:noescape
func around(dst, src *byte, n int)

//go:build !race

package mem

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

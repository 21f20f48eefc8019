package mem

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCopiesOfAnyLength(t *testing.T) {
	for name, f := range map[string]func(dst, src []byte) int{"Copy": Copy, "Across": Across} {
		for _, n := range []int{0, 1, 2048, 2049, 16384 + 7, inPieces, streamed - 1, streamed, streamed + 1,
			3*inPieces + 7, cached, cached + 1} {
			for _, longer := range []int{-1, 0, 1} { // the destination
				for _, off := range []int{0, 1, 63} {
					src, dst := make([]byte, n+off)[off:], make([]byte, max(n+longer, 0)+1)
					for i := range src {
						src[i] = byte(i*7+i>>9) | 1
					}
					want := bytes.Clone(dst)
					copy(want[:len(want)-1], src)
					require.Equal(t, min(n, len(dst)-1), f(dst[:len(dst)-1], src), name)
					require.True(t, bytes.Equal(want, dst), "%s: %d bytes into %d", name, n, len(dst)-1)
				}
			}
		}
	}
}

// What it is for: pieces of a length that caches hold, again and again.
func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{512 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20} {
		dst, src := bytes.Repeat([]byte{1}, n), bytes.Repeat([]byte{2}, n)
		for name, f := range map[string]func(dst, src []byte) int{
			"copy": func(dst, src []byte) int { return copy(dst, src) }, "Copy": Copy,
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", n>>10, name), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					f(dst, src)
				}
			})
		}
	}
}

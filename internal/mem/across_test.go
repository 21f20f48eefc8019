package mem

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcrossIsCopy(t *testing.T) {
	for _, n := range []int{0, 1, 2048, 2049, 4096, 16384 + 7, 1 << 20} {
		for _, longer := range []int{-1, 0, 1} { // the destination
			for _, off := range []int{0, 1, 63} {
				src, dst := make([]byte, n+off)[off:], make([]byte, max(n+longer, 0)+1)
				for i := range src {
					src[i] = byte(i*7+i>>9) | 1
				}
				want := bytes.Clone(dst)
				copy(want[:len(want)-1], src)
				require.Equal(t, min(n, len(dst)-1), Across(dst[:len(dst)-1], src))
				require.True(t, bytes.Equal(want, dst), "%d bytes into %d", n, len(dst)-1)
			}
		}
	}
}

func TestPauseCountsForLooks(t *testing.T) {
	looks := 0
	for left := 200; left > 0; left -= Pause() {
		looks++
	}
	require.LessOrEqual(t, looks, 200)
	require.Positive(t, looks)
}

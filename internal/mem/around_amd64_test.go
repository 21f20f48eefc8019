//go:build !race

package mem

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A copy around the caches is one, wherever it begins and however long it is, and touches nothing else.
func TestAround(t *testing.T) {
	src := make([]byte, 1000)
	for i := range src {
		src[i] = byte(i + 1)
	}
	for at := range CacheLine {
		for _, n := range []int{0, 1, 63, 64, 127, 128, 129, 191, 192, 193, 255, 256, 257, 700, 1000} {
			all := make([]byte, 1200)
			start := int(-uintptr(unsafe.Pointer(&all[0]))&(CacheLine-1)) + at
			require.Equal(t, n, Around(all[start:][:n+1], src[:n]))
			want := make([]byte, len(all))
			copy(want[start:], src[:n])
			require.Equal(t, want, all)
		}
	}
}

// The clock goes on.
func TestTicks(t *testing.T) {
	before := Ticks()
	Fence()
	require.Greater(t, Ticks(), before)
}

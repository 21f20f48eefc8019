//go:build !race

package mem

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// The way of AMD's processors, on any.
func TestStringCopy(t *testing.T) {
	for _, n := range []int{1, 2049, 4998} {
		dst, src := make([]byte, n+2), bytes.Repeat([]byte{3}, n)
		across(&dst[1], &src[0], n)
		require.Equal(t, append(append([]byte{0}, src...), 0), dst)
	}
}

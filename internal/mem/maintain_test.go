package mem

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Memory is as it was, whatever part of it is cleaned and purged; where the processor has no
// instructions for that, it is said.
func TestMaintainCaches(t *testing.T) {
	err := CanMaintain()
	require.True(t, err == nil || errors.Is(err, errors.ErrUnsupported), "%v", err)
	b, want := make([]byte, 1000), make([]byte, 1000)
	for from := range 130 {
		for _, n := range []int{0, 1, 63, 64, 65, 128, 700} {
			for i := range b {
				b[i] = byte(i * (from + n))
			}
			copy(want, b)
			CleanCache(b[from : from+n])
			PurgeCache(b[from : from+n])
			require.Equal(t, want, b)
		}
	}
}

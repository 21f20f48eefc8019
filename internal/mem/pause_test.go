package mem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPauseCountsForLooks(t *testing.T) {
	looks := 0
	for left := 200; left > 0; left -= Pause() {
		looks++
	}
	require.LessOrEqual(t, looks, 200)
	require.Positive(t, looks)
}

package mem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWorthFetching(t *testing.T) {
	require.False(t, WorthFetching(0))
	require.True(t, WorthFetching(1))
	require.True(t, WorthFetching(2048))
	require.Positive(t, Pause())
}

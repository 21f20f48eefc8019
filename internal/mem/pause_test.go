package mem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	require.Positive(t, Pause())
}

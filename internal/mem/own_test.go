package mem

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// It is the word's, and no other's.
func TestOwn(t *testing.T) {
	words := []uint64{1, 2, 3}
	Own(unsafe.Pointer(&words[1]))
	require.Equal(t, []uint64{1, 0, 3}, words)
}

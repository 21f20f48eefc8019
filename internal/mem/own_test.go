package mem

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A hint writes nothing, nor does it mind memory that is not there.
func TestOwn(t *testing.T) {
	b := make([]byte, 3*CacheLine)
	for i := range b {
		b[i] = byte(i)
	}
	for i := range b {
		Own(unsafe.Pointer(&b[i]))
	}
	Own(Pointer(8))
	for i := range b {
		require.Equal(t, byte(i), b[i])
	}
}

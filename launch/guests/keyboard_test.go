//go:build linux

package guests

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is typed before a guest has booted reaches it, in front of what is typed later.
func TestTypedAhead(t *testing.T) {
	var k keyboard
	for _, text := range []string{"uname\n", "\x04"} {
		n, err := k.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	var guest bytes.Buffer
	k.plug(&guest)
	_, err := k.Write([]byte("later"))
	require.NoError(t, err)
	require.Equal(t, "uname\n\x04later", guest.String())
}

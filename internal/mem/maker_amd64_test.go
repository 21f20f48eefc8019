//go:build !race

package mem

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernel has asked the processor as well.
func TestMaker(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^vendor_id\s*: `+maker()+`$`, string(info))
	require.Equal(t, strings.Contains(string(info), "AuthenticAMD"), amd)
}

// What is done for AMD's processors alone.
func TestForSomeMakers(t *testing.T) {
	require.Equal(t, amd, Pause() > 1)
}

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
	require.True(t, strings.Contains(string(info), maker()), maker())
}

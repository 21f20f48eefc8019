//go:build !portable

package sys

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// cores are those that this process may run on.
func cores(t *testing.T) (all []uint32) {
	var mask unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &mask))
	for i := range uint32(len(mask) * 64) {
		if mask.IsSet(int(i)) {
			all = append(all, i+1)
		}
	}
	return all
}

func TestMoveTo(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := cores(t)
	for _, core := range before {
		require.NoError(t, MoveTo(core))
		require.Equal(t, before, cores(t), "it may run where it could")
	}
	require.Error(t, MoveTo(1<<10), "there is no such core")
	require.Equal(t, before, cores(t))
}

func TestRunsOn(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	defer func() { require.NoError(t, unix.SchedSetaffinity(0, &all)) }()
	for _, core := range cores(t) {
		one.Zero()
		one.Set(int(core) - 1)
		require.NoError(t, unix.SchedSetaffinity(0, &one))
		on, ready := RunsOn(Thread())
		require.Equal(t, core, on)
		require.Equal(t, core, Core())
		require.True(t, ready)
	}
	on, ready := RunsOn(1 << 30)
	require.Zero(t, on)
	require.False(t, ready)
	for _, text := range []string{"", "1", "1 (a", "1 (a) R", "1 (a) b) R 1 2 3"} {
		on, ready = runsOn(text)
		require.Zero(t, on, text)
		require.False(t, ready, text)
	}
	// Fields are counted from the last parenthesis on.
	on, ready = runsOn("1 (a) S 7) R" + strings.Repeat(" 5", 35) + " 8 0 0")
	require.Equal(t, uint32(9), on)
	require.True(t, ready)
}

package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// A rank that shares a core with another one that is ready to run moves to one where
// none is, once in a while; one that does not stays where it is.
func TestSpread(t *testing.T) {
	free := ownCPUs()
	if free.count() < 2 {
		t.Skip("this process may run on one core only, by its affinity mask")
	}
	_, fabs := joined(t)
	looks := func() bool {
		fabs[0].spreadAt = time.Time{}
		return fabs[0].spread()
	}
	core := free.first()
	free.remove(core)
	var stop atomic.Bool
	bound, ended := make(chan error), make(chan bool)
	go func() { // the other rank
		defer close(ended)
		runtime.LockOSThread() // for good: the thread ends with its mask
		var mask unix.CPUSet
		mask.Set(int(core) - 1)
		fabs[1].self.thread.Store(uint32(sys.Thread()))
		bound <- unix.SchedSetaffinity(0, &mask)
		for !stop.Load() {
		}
	}()
	require.NoError(t, <-bound)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	moved := false
	for range 1000 { // the kernel may part them first
		require.NoError(t, sys.MoveTo(core))
		if moved = looks(); moved {
			require.NotEqual(t, core, sys.Core())
			require.False(t, fabs[0].spread(), "it has just looked")
			break
		}
	}
	require.True(t, moved)
	for range 1000 { // the kernel may move it there
		require.NoError(t, sys.MoveTo(free.first()))
		if moved = looks(); !moved {
			break
		}
	}
	require.False(t, moved, "nobody else is on this core")
	stop.Store(true)
	<-ended
	fabs[1].self.thread.Store(1 << 30)
	require.False(t, looks(), "there is no such thread")
}

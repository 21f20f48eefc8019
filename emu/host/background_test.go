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

// pauses is how often threads of this process have gone to sleep.
func pauses(t *testing.T) int {
	var use unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &use))
	return int(use.Nvcsw)
}

// pausesBeside is how often that is while a goroutine waits again and again for the background bell of a rank, and
// another one sleeps and computes in turn. Most of it is the runtime's monitor, which looks after them.
func pausesBeside(t *testing.T, m *Member, wait func(mark uint32)) int {
	var over atomic.Bool
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for mark := m.MarkBackground(); !over.Load(); mark = m.MarkBackground() {
			wait(mark)
		}
	}()
	before := pauses(t)
	for range 50 {
		m.WakeBackground(m.me)
		sys.Sleep(time.Millisecond)
		for begun := time.Now(); time.Since(begun) < 5*time.Millisecond; {
		}
	}
	n := pauses(t) - before
	over.Store(true)
	m.WakeBackground(m.me)
	<-ended
	return n
}

// The background leaves the runtime's monitor alone, which goes by those that wait by FutexWait. If this fails because
// both are alike, FutexPark is not needed any more.
func TestTheBackgroundLetsTheMonitorSleep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	_, fabs := joined(t)
	m := fabs[0].Member
	var parking, waiting int
	for range 5 {
		parking += pausesBeside(t, m, m.WaitBackground)
		waiting += pausesBeside(t, m, func(mark uint32) { sys.FutexWait(&m.self.background, mark) })
	}
	require.Less(t, 2*parking, waiting)
}

package net

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// used is what this process has used so far: processor time, and how often its threads have gone to sleep.
func used(t *testing.T) (processor time.Duration, pauses int64) {
	var use unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano()), use.Nvcsw
}

// pausesBeside is how often that is while a goroutine computes. Most of it is the runtime's monitor.
func pausesBeside(t *testing.T) int64 {
	begun, before := used(t)
	for {
		if now, pauses := used(t); now-begun > 100*time.Millisecond {
			return pauses - before
		}
	}
}

// The watcher leaves the runtime's monitor alone, which goes by those that wait in another way: on a rank's only core
// it would be in the way of who waits for a message. If this fails because both are alike, ReadyPark is not needed any
// more.
func TestTheWatcherLetsTheMonitorSleep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ends(t, 2)
	runtime.GOMAXPROCS(1)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(epoll)
	var watching, waiting int64
	for range 5 {
		watching += pausesBeside(t)
		var over atomic.Bool
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for !over.Load() {
				_, _ = unix.EpollWait(epoll, make([]unix.EpollEvent, 1), unattended)
			}
		}()
		waiting += pausesBeside(t)
		over.Store(true)
		<-ended
	}
	require.Less(t, 2*watching, waiting)
}

// A rank with one core may sleep in a system call, and its watcher must run all the same.
func TestTheWatcherHasAPlace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ends(t, 2)
	require.Greater(t, runtime.GOMAXPROCS(0), 1)
}

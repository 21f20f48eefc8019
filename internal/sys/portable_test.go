//go:build !linux || portable

package sys

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A word is changed and its sleepers are woken while others are about to sleep: all get through.
func TestPortableFutex(t *testing.T) {
	const sleepers = 8
	w, through := new(atomic.Uint32), make(chan bool, sleepers)
	for range sleepers {
		go func() {
			for w.Load() < 1000 {
				FutexWait(w, w.Load())
			}
			through <- true
		}()
	}
	for i := range uint32(1000) {
		w.Store(i + 1)
		FutexWake(w, sleepers)
	}
	for range sleepers {
		require.True(t, <-through)
	}
}

// As many are woken as are asked for.
func TestPortableFutexWakesSome(t *testing.T) {
	w, woken := new(atomic.Uint32), make(chan bool, 3)
	asleep := func() int {
		sleepers.Lock()
		defer sleepers.Unlock()
		return len(sleepers.on[w])
	}
	for range 3 {
		go func() {
			FutexWait(w, 0)
			woken <- true
		}()
	}
	for asleep() < 3 {
		Yield()
	}
	FutexWake(w, 1)
	require.True(t, <-woken)
	require.Equal(t, 2, asleep())
	FutexWake(w, 5)
	require.True(t, <-woken)
	require.True(t, <-woken)
	require.Zero(t, asleep())
}

//go:build !portable

package sys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever waits for the end of a life hears of it, though the kernel wakes one only. (Ends of processes are tested in
// emu/host.)
func TestOutlive(t *testing.T) {
	l := new(Life)
	const waiters = 3
	heard := make(chan bool, waiters)
	for range waiters {
		go func() {
			waited, known := l.WaitForExit()
			assert.True(t, waited)
			heard <- known
		}()
	}
	time.Sleep(10 * time.Millisecond)
	l.word.Store(1 | lifeWatched) // it begins
	FutexWake(&l.word, 1)
	time.Sleep(10 * time.Millisecond)
	require.Empty(t, heard)
	l.word.Store(lifeOver | lifeWatched)
	FutexWake(&l.word, 1)
	for range waiters {
		require.True(t, <-heard)
	}
	waited, known := l.WaitForExit()
	require.False(t, waited)
	require.True(t, known)
}

// Where the kernel will not tell, nobody waits.
func TestOutliveInVain(t *testing.T) {
	l := new(Life)
	l.word.Store(lifeWatched)
	_, known := l.WaitForExit()
	require.False(t, known)
}

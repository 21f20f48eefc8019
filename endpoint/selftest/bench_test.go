package selftest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// After a wait that ran out the next one has less time, but some: what the device is to do there may take its time on a
// machine that is busy, though it works.
func TestWaitAfterOneThatRanOut(t *testing.T) {
	b := &bench{limit: Limit / 2, shorter: Limit / 5}
	require.False(t, b.wait(func() bool { return false }))
	begun := time.Now()
	require.True(t, b.wait(func() bool { return time.Since(begun) > Limit/10 }))
}

// Time in which this process did not run does not count.
func TestWaitOfAProcessThatDoesNotRun(t *testing.T) {
	b := &bench{limit: 2 * longestRound}
	asked := 0
	require.True(t, b.wait(func() bool {
		if asked++; asked > spinRounds {
			time.Sleep(3 * longestRound)
		}
		return asked == spinRounds+3
	}))
}

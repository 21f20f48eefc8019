package selftest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// After a wait that ran out the next one has less time, but some: what the device is to do there may take its time on a
// machine that is busy, though it works.
func TestWaitAfterOneThatRanOut(t *testing.T) {
	b := &bench{limit: Limit / 2, shorter: Limit / 5, left: 2 * Limit}
	require.False(t, b.wait(func() bool { return false }))
	begun := time.Now()
	require.True(t, b.wait(func() bool { return time.Since(begun) > Limit/10 }))
}

// Time in which this process did not run does not count.
func TestWaitOfAProcessThatDoesNotRun(t *testing.T) {
	b := &bench{limit: 2 * longestRound, left: 2 * longestRound}
	asked := 0
	require.True(t, b.wait(func() bool {
		if asked++; asked > spinRounds {
			time.Sleep(3 * longestRound)
		}
		return asked == spinRounds+3
	}))
}

// A device that is slow at everything, though never too slow, does not hold up the check for ever.
func TestAllWaitsTogetherHaveALimit(t *testing.T) {
	b := &bench{limit: 20 * longestRound, shorter: 20 * longestRound, left: 25 * longestRound}
	slow := func() bool {
		asked := 0
		return b.wait(func() bool {
			if asked++; asked > spinRounds {
				time.Sleep(longestRound)
			}
			return asked == spinRounds+10
		})
	}
	require.True(t, slow())
	require.True(t, slow())
	require.False(t, slow())
	require.Less(t, b.waited, 10*longestRound)
	line := b.try(check{name: "x", do: func(*bench) (string, error) { return "", nil }}, nil)
	require.Equal(t, Line{Check: "x", Result: NotTried, Text: "the time for all waits is over"}, line)
}

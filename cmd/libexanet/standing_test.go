//go:build real

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program with persistent requests, and receives that repeat, sees with the protocol standing what it sees under its
// own MPI; most of its long messages are one write into a buffer that stands.
func TestBuffersThatStand(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program := h.compile(t, "standing")
		for _, n := range []int{2, 3} {
			alone, dir := h.alone(t, n, program), t.TempDir()
			ours := h.job(t, n, []string{h.library(t), "EXANET_VARIANT=standing", "EXANET_STATS=" + dir}, program)
			require.Zero(t, ours.code, ours.out)
			assert.Equal(t, alone.out, ours.out)
			for _, rank := range statsOf(t, dir, n) {
				t.Logf("%d ranks: %v", n, rank.Counters)
				assert.Greater(t, 2*rank.Counters["standing"], rank.Counters["writes"])
			}
		}
	})
}

// A rank is killed while others write into its buffers. The job ends, and nobody is left.
func TestKilledWithBuffersThatStand(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program := h.compile(t, "standing")
		killed, over := make(chan bool, 1), make(chan struct{})
		go func() {
			killed <- killOne(program, 500*time.Millisecond)
			endLauncher(t, program, over)
		}()
		got := h.job(t, 3, []string{h.library(t), "EXANET_VARIANT=standing"}, program, "forever")
		close(over)
		require.True(t, <-killed, got.out)
		require.NotZero(t, got.code, got.out)
		require.Eventually(t, func() bool { return len(running(program)) == 0 }, time.Minute, 5*time.Millisecond)
	})
}

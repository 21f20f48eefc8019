//go:build real

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A million messages in every form leave Go's collector nothing to do, nor do
// collectives.
func TestAMillionMessagesCostNoCollectorCycle(t *testing.T) {
	const ranks = 2
	eachHost(t, func(t *testing.T, h *host) {
		dir, program := t.TempDir(), h.compile(t, "million")
		ours := h.job(t, ranks, []string{h.library(t), "EXANET_STATS=" + dir}, program, "1000")
		require.Zero(t, ours.code, ours.out)
		var sent, sum int
		_, err := fmt.Sscanf(ours.out, "%d messages, sum %d", &sent, &sum)
		require.NoError(t, err)
		assert.Greater(t, sent, 1_000_000)
		for rank := range ranks {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank-%d.json", rank)))
			require.NoError(t, err)
			var stats mpi.Stats
			require.NoError(t, json.Unmarshal(text, &stats))
			assert.Zero(t, stats.CollectorCycles)
			// To be counted they take no other way.
			assert.Greater(t, stats.FastPath["send"].N, uint64(1000))
			assert.Greater(t, stats.FastPath["receive"].N, uint64(1000))
			assert.GreaterOrEqual(t, stats.Receives, stats.FastPath["receive"].N)
		}
	})
}

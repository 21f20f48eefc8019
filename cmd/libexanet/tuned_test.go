//go:build real

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A table of collectives' algorithms is obeyed by preloaded programs, also where calls do not
// enter Go, and a broken one is told of, and the job left to the host.
func TestTableOfCollectives(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program, table := h.compile(t, "coll"), filepath.Join(t.TempDir(), "table")
		receives := func(text string) uint64 {
			require.NoError(t, os.WriteFile(table, []byte(text), 0o600))
			dir := t.TempDir()
			ours := h.job(t, 2, []string{h.library(t), "EXANET_COLL=@" + table, "EXANET_STATS=" + dir}, program)
			require.Zero(t, ours.code, ours.out)
			got, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
			require.NoError(t, err)
			var stats mpi.Stats
			require.NoError(t, json.Unmarshal(got, &stats))
			return stats.Receives
		}
		assert.Greater(t, receives("bcast any any binomial\nbarrier any any tree\n"), receives(""))

		require.NoError(t, os.WriteFile(table, []byte("\nbcast 8 linear"), 0o600))
		ours := h.job(t, 2, []string{h.library(t), "EXANET_COLL=@" + table}, program)
		assert.Zero(t, ours.code)
		assert.Contains(t, ours.out, "table "+table+", line 2: want collective, bytes, ranks and algorithm")
		assert.Contains(t, ours.out, "runs over its own MPI")
	})
}

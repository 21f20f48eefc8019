//go:build real

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

// modelOf runs the hardware for so many ranks on so many nodes, and returns what leads them to it.
func modelOf(t *testing.T, nodes, ranks int) (env string) {
	t.Helper()
	d, device, err := launch.NewModel(nodes, ranks)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return "EXANET_DEVICE=" + device
}

// statsOf are those of all ranks of a job that has had EXANET_STATS.
func statsOf(t *testing.T, dir string, ranks int) []mpi.Stats {
	t.Helper()
	all := make([]mpi.Stats, ranks)
	for i := range all {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank-%d.json", i)))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &all[i]))
	}
	return all
}

// Programs over the registers of the prototype, each rank on a node of its own, see what they see under the host alone;
// every message of a protocol has gone through a packetizer, and every long one through the RDMA engine.
func TestOverRegisters(t *testing.T) {
	names := []string{
		"p2p", "channels", "rendezvous", "ahead", "late", "wait", "probe", "matched", "wild", "kept", "types", "comm",
		"idup", "tests", "newer", "coll", "neighbour", "ops", "errors", "onesided", "handles", "busy", "ssend",
		"threads", "fortran",
	}
	if testing.Short() {
		names = []string{"p2p", "wild", "types", "comm", "coll", "threads"}
	}
	eachHost(t, func(t *testing.T, h *host) {
		lib := h.library(t)
		for _, name := range names {
			program := h.compile(t, name)
			for _, n := range []int{2, 4} {
				what, dir := fmt.Sprintf("%s, %d ranks", name, n), t.TempDir()
				alone := h.job(t, n, nil, program)
				ours := h.job(t, n, []string{lib, modelOf(t, n, n), "EXANET_STATS=" + dir}, program)
				same(t, alone, ours, what)
				for rank, s := range statsOf(t, dir, n) {
					assert.Empty(t, s.FastPath, "%s: rank %d", what, rank)
					sent := uint64(0)
					for _, k := range s.Control {
						sent += k
					}
					require.NotNil(t, s.Registers, what)
					assert.Equal(t, sent, s.Registers.Packetizer.Messages, "%s: rank %d", what, rank)
					assert.GreaterOrEqual(t, s.Registers.RDMA.Writes, s.Writes, "%s: rank %d", what, rank)
					assert.Equal(t, s.Writes > 0, s.Registers.RDMA.Bytes > 0, "%s: rank %d", what, rank)
				}
			}
		}
	})
}

// The same with every protocol, and with several ranks on a node.
func TestProtocolsOverRegisters(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib := h.library(t)
		for i, variant := range allProtocols {
			for _, name := range []string{"p2p", "wait"} {
				program, nodes := h.compile(t, name), 1+i%3
				alone := h.job(t, 3, nil, program)
				ours := h.job(t, 3, []string{lib, modelOf(t, nodes, 3), "EXANET_VARIANT=" + variant}, program)
				same(t, alone, ours, name+", "+variant)
			}
		}
	})
}

// Where the launcher does not tell of a death, the hardware does.
func TestDeathOverRegisters(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "death")
		learned := filepath.Join(t.TempDir(), "learned")
		got := h.job(t, 4, []string{lib, modelOf(t, 4, 4)}, program, "unseen", "calls", learned)
		assert.NotZero(t, got.code)
		assert.Contains(t, got.out, "process failed")
		for rank := range 3 {
			assert.FileExists(t, fmt.Sprintf("%s.%d", learned, rank))
		}
	})
}

// What cannot be used leaves the job to the host, and one line says why.
func TestRegistersThatAreNotThere(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "idup")
		alone := h.job(t, 2, nil, program)
		good := modelOf(t, 1, 2)
		for device, says := range map[string]string{
			"EXANET_DEVICE=registers:/none": "open /none: nothing there",
			"EXANET_DEVICE=registers":       "say where they are, as registers:PATH",
			good + ",/none":                 "rank 1 cannot take part: mpi: Init",
			modelOf(t, 1, 1):                "all pages are in use",
		} {
			got := h.job(t, 2, []string{lib, device}, program)
			assert.Zero(t, got.code, device)
			assert.Contains(t, got.out, says, device)
			assert.Equal(t, 1, strings.Count(got.out, "exanet:"), got.out)
			assert.Contains(t, got.out, strings.TrimSpace(alone.out), device)
		}
	})
}

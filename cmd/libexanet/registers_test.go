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
// every message of a protocol has gone through a packetizer, and every long one through the RDMA engine. Not among the
// programs are matched, which counts on the host's room for short messages, and those that do not wait for long.
func TestOverRegisters(t *testing.T) {
	names := []string{
		"p2p", "coll", "types", "channels", "rendezvous", "ahead", "late", "wait", "probe", "wild", "kept", "comm",
		"idup", "newer", "neighbour", "ops", "errors", "onesided", "windows", "handles", "guest", "signals", "busy",
		"ssend", "throws", "threads", "idupthreads", "fortran",
	}
	counts := []int{2, 4}
	if testing.Short() {
		names, counts = names[:3], counts[1:]
	}
	eachHost(t, func(t *testing.T, h *host) {
		lib := h.library(t)
		for _, name := range names {
			program := h.compile(t, name)
			for _, n := range counts {
				what, dir := fmt.Sprintf("%s, %d ranks", name, n), t.TempDir()
				alone := h.job(t, n, nil, program)
				ours := h.job(t, n, []string{lib, modelOf(t, n, n), "EXANET_STATS=" + dir}, program)
				same(t, alone, ours, what)
				for rank, s := range statsOf(t, dir, n) {
					provesRegisters(t, s, fmt.Sprintf("%s: rank %d", what, rank))
				}
			}
		}
	})
}

// provesRegisters holds what a rank's protocol has done against what the blocks have done for it.
func provesRegisters(t *testing.T, s mpi.Stats, what string) {
	t.Helper()
	assert.Empty(t, s.FastPath, what)
	require.NotNil(t, s.Registers, what)
	sent := uint64(0)
	for _, n := range s.Control {
		sent += n
	}
	assert.Equal(t, sent, s.Registers.Packetizer.Messages, what)
	assert.GreaterOrEqual(t, s.Registers.RDMA.Writes, s.Writes, what) // those of the detector are among them
	assert.Equal(t, s.Writes > 0, s.Registers.RDMA.Bytes > 0, what)
}

// The same with every protocol, and with several ranks on a node.
func TestProtocolsOverRegisters(t *testing.T) {
	for i, variant := range allProtocols {
		h, nodes := hosts[i%len(hosts)], 1+i%3
		program, dir := h.compile(t, "p2p"), t.TempDir()
		alone := h.job(t, 3, nil, program)
		ours := h.job(t, 3, []string{h.library(t), modelOf(t, nodes, 3), "EXANET_VARIANT=" + variant,
			"EXANET_STATS=" + dir}, program)
		same(t, alone, ours, variant)
		for _, s := range statsOf(t, dir, 3) {
			assert.NotZero(t, s.Registers.Packetizer.Messages, variant)
		}
	}
}

// Where the launcher does not tell of a death, the hardware does.
func TestDeathOverRegisters(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "death")
		ways := []string{"calls", "ibarrier", "barrier", "alltoall"}
		if testing.Short() {
			ways = ways[:1]
		}
		for _, way := range ways {
			learned := filepath.Join(t.TempDir(), "learned")
			got := h.job(t, 7, []string{lib, modelOf(t, 4, 7)}, program, "unseen", way, learned)
			assert.NotZero(t, got.code, way)
			assert.Contains(t, got.out, "process failed", way)
			for rank := range 6 {
				assert.FileExists(t, fmt.Sprintf("%s.%d", learned, rank), way)
			}
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
			good + ",/none":                 "rank 1 cannot take part: open /none",
			modelOf(t, 1, 1):                "all pages are in use",
		} {
			got := h.job(t, 2, []string{lib, device}, program)
			assert.Zero(t, got.code, device)
			assert.Contains(t, got.out, says, device)
			assert.Equal(t, 1, strings.Count(got.out, "exanet:"), got.out)
			// The line may come between those of two ranks.
			assert.Contains(t, ofOurs.ReplaceAllString(got.out, ""), strings.TrimSpace(alone.out), device)
		}
	})
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/examples/cg/stencil"
	"github.com/exanet-mpi/exanet/mpi"
)

func exampleReport(t *testing.T) *demoReport {
	t.Helper()
	layout, err := stencil.NewLayout(4, [3]int{8, 8, 8})
	require.NoError(t, err)
	return &demoReport{
		Layout:  layout,
		Verdict: stencil.Verdict{Iterations: 10, Residual: 1e-9, Serial: 1e-9, True: 1e-9, Allowed: 1e-12},
		Elapsed: time.Second,
		Times: stencil.Times{Halo: 250 * time.Millisecond, Allreduce: 100 * time.Millisecond,
			Compute: 650 * time.Millisecond},
	}
}

func TestDemoTable(t *testing.T) {
	stats := &mpi.Stats{Variant: "ticket", Control: map[string]uint64{"RTS": 12, "RTR": 34}, Writes: 40, Receives: 100,
		FastReceives: 30}
	var out strings.Builder
	require.NoError(t, writeDemo(&out, exampleReport(t), stats))
	for _, want := range []string{
		"16 x 16 x 8 points, 4 processes (2 x 2 x 1), variant ticket\n",
		"  halo exchange    0.250 s  25.0 %\n",
		"  RTS                   12  a sender",
		"  RTR                   34  a receiver",
		"  Ack                    0  ",
		"  fast receives     30.0 %  advertised before the send was posted; 75.0 % of",
		"\nOK: ",
	} {
		require.Contains(t, out.String(), want)
	}
}

func TestDemoOfAWrongResultFails(t *testing.T) {
	report := exampleReport(t)
	report.Verdict.Difference = 1e-3
	var out strings.Builder
	err := writeDemo(&out, report, &mpi.Stats{})
	require.ErrorIs(t, err, stencil.ErrMismatch)
	require.Equal(t, exitFailure, exitCode(err))
	require.Contains(t, out.String(), "\nWRONG: ")
	require.NotContains(t, out.String(), "OK:")
}

// Lines arrive in any pieces; what is not ours is passed on.
func TestDemoInput(t *testing.T) {
	report, err := json.Marshal(demoLine{Report: exampleReport(t)})
	require.NoError(t, err)
	text := `{"iteration":3,"residual":1e-5}` + "\nhello from a library\n" + `{"checking":true}` + "\n" +
		string(report) + "\n"
	progress := newProgress(new(cobra.Command), demoSteps, "solving in parallel")
	defer progress.end()
	for size := 1; size <= len(text); size += 7 {
		var other strings.Builder
		in := &demoInput{other: &other, progress: progress}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			written, err := in.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, written)
			rest = rest[n:]
		}
		require.Equal(t, "hello from a library\n", other.String())
		require.Equal(t, exampleReport(t), in.report)
		require.Equal(t, demoSteps-1, progress.done)
		require.Equal(t, "checking against a serial solve", progress.doing)
	}
}

func TestReadStats(t *testing.T) {
	dir := t.TempDir()
	for rank, text := range []string{
		`{"rank":0,"variant":"ticket","control":{"RTS":1,"EnvD":5},"writes":2,"receives":7,"fast_receives":1}`,
		`{"rank":1,"variant":"ticket","control":{"RTS":2},"writes":3,"receives":4,"fast_receives":2}`,
		`{`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rank-"+string(rune('0'+rank))+".json"), []byte(text),
			0o600))
	}
	total, err := readStats(dir, 2)
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"RTS": 3, "EnvD": 5}, total.Control)
	require.Equal(t, []uint64{5, 11, 3}, []uint64{total.Writes, total.Receives, total.FastReceives})
	_, err = readStats(dir, 3)
	require.ErrorContains(t, err, "rank 2")
	_, err = readStats(dir, 4)
	require.Error(t, err)
}

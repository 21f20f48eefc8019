package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// What needs no memory that processes share works on every system.
func TestPortableCommands(t *testing.T) {
	figure := filepath.Join("..", "..", "variants", "testdata", "fig3.05-crossing.txt")
	for line, says := range map[string]string{
		"chart " + figure:                          "everything has completed",
		"explore --variant envless --ops 1":        "nothing wrong",
		"sim bench bcast --ranks 4 --iterations 2": "bcast",
		"info": "protocols",
	} {
		out, errs, code := exanet(t, "", strings.Fields(line)...)
		require.Zero(t, code, "%s: %s", line, errs)
		require.Contains(t, out, says, line)
	}
}

// What needs it says so elsewhere, in one line.
func TestPortableRefusals(t *testing.T) {
	if sys.Processes() == nil {
		t.Skip("ranks can be processes here (go test -tags portable builds what cannot)")
	}
	for _, line := range []string{
		"run -n 2 true", "demo", "bench latency", "bench floor", "tune " + filepath.Join(t.TempDir(), "table"),
		"preload -- mpirun -n 2 true", "compare -- mpirun -n 2 true",
	} {
		out, errs, code := exanet(t, "", strings.Fields(line)...)
		require.Equal(t, 1, code, line)
		require.Empty(t, out, line)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Contains(t, errs, "need Linux", line)
	}
}

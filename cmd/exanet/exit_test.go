package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Exit codes are those of exanet --help: 2 for wrong arguments, 1 for what has failed, a shell's for a program.
func TestExitCodes(t *testing.T) {
	figure := "../../variants/testdata/fig3.05-crossing.txt"
	nowhere := filepath.Join(os.DevNull, "x")
	for _, c := range []struct {
		code int
		line []string
	}{
		{0, []string{"sim"}},
		{0, []string{"sim", "constants"}},
		{exitUsage, []string{"sim", "none"}},
		{exitUsage, []string{"sim", "bench"}},
		{exitUsage, []string{"sim", "bench", "latency", "--iterations", "0"}},
		{exitUsage, []string{"sim", "bench", "latency", "--variant", "none"}},
		{exitUsage, []string{"sim", "bench", "latency", "--sizes", "x"}},
		{exitUsage, []string{"sim", "run", "-n", "2"}},
		{exitUsage, []string{"sim", "run", "-n", "2", "--torus", "0x1x1", "true"}},
		{exitFailure, []string{"sim", "run", "-n", "2", "true"}}, // which knows nothing of virtual time
		{127, []string{"sim", "run", "-n", "2", "./none"}},
		{126, []string{"sim", "run", "-n", "2", "./exit_test.go"}},
		{0, []string{"device", "check", "--model"}}, // TestDeviceCheckFails has 1
		{exitUsage, []string{"device", "check", "a", "b"}},
		{exitUsage, []string{"device", "check", "/dev/exanet-none"}},
		{exitUsage, []string{"reproduce"}},
		{exitUsage, []string{"reproduce", "--out", nowhere, "--paper", "none"}},
		{exitUsage, []string{"reproduce", "fit", "x"}},
		{exitUsage, []string{"reproduce", "--out", nowhere}},
		{0, []string{"chart", figure}},
		{exitUsage, []string{"chart", figure, figure}},
		{exitUsage, []string{"chart", "none"}},
		{exitUsage, []string{"chart", "exit_test.go"}},
		{exitUsage, []string{"chart", figure, "--svg", nowhere}},
	} {
		_, errs, code := exanetHere(c.line...)
		require.Equal(t, c.code, code, "%v: %s", c.line, errs)
	}
	help, _, _ := exanetHere("--help")
	require.Contains(t, help, "The exit code is 0 ")
}

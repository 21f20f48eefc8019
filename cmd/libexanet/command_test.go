//go:build real

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of exanet that preload the library, with real launchers.

func TestPreloadAndCompareCommands(t *testing.T) {
	exanet := filepath.Join(t.TempDir(), "exanet")
	out, err := exec.Command("go", "build", "-o", exanet, "../exanet").CombinedOutput()
	require.NoError(t, err, string(out))
	program := compile(t, "p2p")
	command := func(args ...string) string {
		cmd := exec.Command(exanet, args...)
		cmd.Env = append(cmd.Environ(), "EXANET_VERBOSE=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	lib := "--lib=../../bin"
	for _, words := range [][]string{
		{"mpirun.mpich", "-np", "2", program},
		{"mpiexec.hydra", "-genvnone", "-n", "1", program, ":", "-n", "1", "env", "-u", "NOTHING", program},
		{"timeout", "60", "mpirun.mpich", "-np", "2", "sh", "-c", program},
	} {
		assert.Contains(t, command(append([]string{"preload", lib}, words...)...), "exanet: 2 ranks, protocol ticket")
	}
	assert.Contains(t, command("preload", lib, program), "exanet: 1 ranks", "without a launcher")
	assert.Contains(t, command("compare", lib, "--runs=2", "mpirun.mpich", "-np", "2", program), "medians of 2 runs each way")
}

//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of exanet that preload the library, with real launchers.

// sum is a program of either MPI.
const sum = `
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("# Sum\n%d\n", sum);
	MPI_Finalize();
	return 0;
}
`

// ofOurs are the lines that the library says.
var ofOurs = regexp.MustCompile(`(?m)^exanet: .*\n`)

// A job that takes too long says what its ranks wait for, and ends; the codes of others are their own.
func TestPreloadWithATimeout(t *testing.T) {
	exanet := filepath.Join(t.TempDir(), "exanet")
	out, err := exec.Command("go", "build", "-o", exanet, "../exanet").CombinedOutput()
	require.NoError(t, err, string(out))
	eachHost(t, func(t *testing.T, h *host) {
		h.library(t)
		program := h.compile(t, "stuck")
		more := map[string]string{"mpich": "-genvnone", "openmpi": "--oversubscribe"}[h.mpi]
		run := func(timeout string, args ...string) (string, int) {
			cmd := exec.Command(exanet, append([]string{"preload", "--lib=../../bin", "--timeout", timeout,
				"mpirun." + h.mpi, more, "-np", "4", program}, args...)...)
			cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		out, code := run("10s")
		require.Equal(t, 124, code, out)
		require.Contains(t, out, `exanet: what the ranks wait for:
  rank 0 Allreduce: 4 bytes, waits for rank 1
  rank 1 receive from rank 0, tag 7, 4 bytes: no message has arrived
  rank 2 receive from any source, tag 7, 4 bytes: no message has arrived
  rank 3 waits for nothing here: it computes, or is in a call of the host MPI
exanet: the job has not ended within 10s, and is ended
`)
		for _, own := range []string{"0", "3"} {
			out, code = run("5m", own)
			require.Equal(t, own, strconv.Itoa(code), out)
			require.NotContains(t, out, "exanet:")
		}
	})
}

func TestPreloadAndCompareCommands(t *testing.T) {
	dir := t.TempDir()
	exanet := filepath.Join(dir, "exanet")
	try := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "EXANET_VERBOSE=1", "OMPI_ALLOW_RUN_AS_ROOT=1",
			"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := try(name, args...)
		require.NoError(t, err, out)
		return out
	}
	alone := func(t *testing.T, words []string) bool {
		out, err := try(words[0], words[1:]...)
		if err != nil {
			t.Logf("left out: %q, which does not run alone: %v\n%s", words, err, out)
		}
		return err == nil
	}
	run("go", "build", "-o", exanet, "../exanet")
	source := filepath.Join(dir, "sum.c")
	require.NoError(t, os.WriteFile(source, []byte(sum), 0o666))
	eachHost(t, func(t *testing.T, h *host) {
		program, asan := h.build(t, source), h.build(t, source, "-fsanitize=address")
		launcher, more := "mpirun."+h.mpi, map[string]string{"mpich": "-genvnone", "openmpi": "--oversubscribe"}[h.mpi]
		for _, words := range [][]string{
			{launcher, more, "-np", "2", program},
			{launcher, more, "-n", "1", program, ":", "-n", "1", "env", "-u", "NOTHING", program},
			{"timeout", "300", launcher, more, "-np", "2", "sh", "-c", program},
		} {
			if !alone(t, words) {
				continue
			}
			out := run(exanet, append([]string{"preload", "--lib=../../bin"}, words...)...)
			assert.Contains(t, out, "exanet: 2 ranks, protocol auto", "%q", words)
			// The launcher may put a line of the one between two of the other.
			assert.Contains(t, ofOurs.ReplaceAllString(out, ""), "# Sum\n1\n", "%q", words)
		}
		t.Setenv("ASAN_OPTIONS", "detect_leaks=0") // those of the host MPI
		both := []string{launcher, more, "-np", "1", program, ":", "-np", "1", asan}
		if alone(t, both) {
			out := run(exanet, append([]string{"preload", "--lib=../../bin"}, both...)...)
			assert.Contains(t, out, "exanet: 2 ranks")
		}
		assert.Contains(t, run(exanet, "preload", "--lib=../../bin", program), "exanet: 1 ranks",
			"without a launcher")
		assert.Contains(t, run(exanet, "compare", "--lib=../../bin", "--runs=2", launcher, more, "-np", "2",
			program),
			"# Sum\n# Size               without              with             ratio\n0                       "+
				"1.00              1.00              1.00\n")
	})
}

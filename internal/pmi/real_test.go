package pmi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roleVar has this test binary be a rank of a real launcher's.
const roleVar = "EXANET_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := rankMain(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rankMain shows more and more bytes to the others, and says what it has seen.
func rankMain(role string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	c, err := Open(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("there is no launcher")
	}
	of := func(rank, n int) []byte { return bytes.Repeat([]byte{byte(rank), '\n', ';'}, n)[:n] }
	for _, n := range []int{0, 3000, MaxData - 99} {
		if role == "abort" && c.Rank == 1 && n > 0 {
			if err := c.Abort(7); err != nil {
				return err
			}
			os.Exit(7)
		}
		all, err := c.AllGather(ctx, "of"+strconv.Itoa(n), of(c.Rank, n+c.Rank))
		if err != nil {
			return err
		}
		for r, b := range all {
			if want := of(r, n+r); !bytes.Equal(b, want) {
				return fmt.Errorf("rank %d sees %q of rank %d, not %q", c.Rank, b, r, want)
			}
		}
	}
	fmt.Printf("rank %d of %d in %s\n", c.Rank, c.Size, c.Job)
	return c.Finalize(ctx)
}

// hydra runs this binary as ranks of MPICH's launcher.
func hydra(t *testing.T, role string, args ...string) (string, error) {
	if err := exec.Command("mpirun.mpich", "-np", "1", "true").Run(); err != nil {
		t.Skipf("mpirun.mpich cannot start a process: %v", err)
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(minute(t), "mpirun.mpich", append(args, exe)...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Under Hydra, ranks see what the others show, whichever way they are connected to it.
func TestHydra(t *testing.T) {
	for _, args := range [][]string{{"-np", "4"}, {"-np", "4", "-pmi-port"}, {"-np", "1"}} {
		out, err := hydra(t, "rank", args...)
		require.NoError(t, err, out)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		sort.Strings(lines)
		_, job, _ := strings.Cut(lines[0], " in ")
		n, err := strconv.Atoi(args[1])
		require.NoError(t, err)
		var want []string
		for r := range n {
			want = append(want, fmt.Sprintf("rank %d of %d in %s", r, n, job))
		}
		require.NotEmpty(t, job)
		require.Equal(t, want, lines)
	}
}

// A rank that aborts ends those that wait for it, and its code is the job's.
func TestHydraAbort(t *testing.T) {
	out, err := hydra(t, "abort", "-np", "3")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out)
	require.Equal(t, 7, exit.ExitCode(), out)
}

// Package pmirank has a test binary be the ranks of another launcher's job, which show bytes to each other by
// internal/pmi.
package pmirank

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/pmi"
)

const (
	roleVar = "EXANET_TEST_ROLE"
	limit   = time.Minute
)

// What a rank does.
const (
	Gather = "gather" // shows more and more bytes to the others, says what it is, and leaves
	Abort  = "abort"  // shows nothing, then rank 1 aborts with Code and the others wait for their end
	Code   = 7
)

// Main returns if this process is to test, and else never.
func Main() {
	role := os.Getenv(roleVar)
	if role == "" {
		return
	}
	if err := rank(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func rank(role string) error {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	c, err := pmi.Open(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("there is no launcher")
	}
	of := func(rank, n int) []byte { return bytes.Repeat([]byte{byte(rank), '\n', ';'}, n)[:n] }
	for _, n := range []int{0, 3000, pmi.MaxData - 99} {
		if role == Abort && n > 0 {
			return abort(c)
		}
		all, err := c.AllGather(ctx, "of"+strconv.Itoa(n), of(c.Rank, n+c.Rank))
		if err != nil {
			return err
		}
		for r, b := range all {
			if want := of(r, n+r); !bytes.Equal(b, want) {
				return fmt.Errorf("rank %d sees %.20q of rank %d, not %.20q", c.Rank, b, r, want)
			}
		}
	}
	fmt.Printf("rank %d of %d in %s\n", c.Rank, c.Size, c.Job)
	return c.Finalize(ctx)
}

// abort does not have the others in a fence: the mpirun of Open MPI 4.1 may crash or hang where a rank aborts during
// one.
func abort(c *pmi.Client) error {
	if c.Rank == 1 {
		if err := c.Abort(Code); err != nil {
			return err
		}
		os.Exit(Code)
	}
	time.Sleep(limit)
	return errors.New("another rank has aborted, and nobody ends this one")
}

// Run has a launcher start the ranks, whose test calls Main first, and returns what they print. It skips a test
// where the launcher starts nothing.
func Run(t *testing.T, role string, env []string, launcher string, args ...string) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	start := func(program string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, launcher, append(slices.Clone(args), program)...)
		cmd.Env = append(append(os.Environ(), env...), roleVar+"="+role)
		return cmd.CombinedOutput()
	}
	if out, err := start("true"); err != nil {
		t.Skipf("%s cannot start processes: %v %s", launcher, err, out)
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	out, err := start(exe)
	return string(out), err
}

// RequireJob fails a test if an output is not that of the ranks of one job.
func RequireJob(t *testing.T, ranks int, output string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	_, job, _ := strings.Cut(lines[0], " in ")
	var want []string
	for r := range ranks {
		want = append(want, fmt.Sprintf("rank %d of %d in %s", r, ranks, job))
	}
	require.NotEmpty(t, job)
	require.ElementsMatch(t, want, lines)
}

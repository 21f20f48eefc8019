package launch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"

	"github.com/exanet-mpi/exanet/test/collect"
)

// A rank can die at any moment: before and during Init, while it writes a
// message, while others wait for it. Every other rank must see that by itself,
// with an error, and nothing may be left behind.
func TestKillAnyRankAtAnyMoment(t *testing.T) {
	// The launcher must not cover up that a rank hangs.
	defer launch.BePatient(time.Hour)()
	times := 200
	if testing.Short() {
		times = 20
	}
	const ranks = 4
	for i := range times {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		victim, delay := r.IntN(ranks), time.Duration(r.IntN(60_000))*time.Microsecond
		says := fmt.Sprintf("run %d, seed %d: rank %d killed after %v", i, seed, victim, delay)
		tmp := t.TempDir()
		before := filesOfJobs(t)

		var errs collect.Buffer
		cfg := self(ranks, "chaos")
		cfg.Args = []string{fmt.Sprint(seed)}
		cfg.Env = append(cfg.Env, "TMPDIR="+tmp)
		cfg.Stderr = &errs
		j, err := launch.Start(t.Context(), cfg)
		require.NoError(t, err, says)
		time.Sleep(delay)
		require.NoError(t, syscall.Kill(j.Pid(victim), syscall.SIGKILL), says)

		over := make(chan error, 1)
		go func() { over <- j.Wait() }()
		select {
		case err = <-over:
		case <-time.After(patience):
			j.Report()
			time.Sleep(time.Second)
			for rank := range ranks {
				_ = syscall.Kill(j.Pid(rank), syscall.SIGKILL)
			}
			t.Fatalf("%s: the others hang:\n%s", says, errs.String())
		}
		var re *launch.RankError
		require.ErrorAs(t, err, &re, says)
		require.Equal(t, victim, re.Rank, "%s\n%s", says, errs.String())
		require.Equal(t, syscall.SIGKILL, re.Signal, says)
		require.NotContains(t, errs.String(), unexpected, says)
		require.Equal(t, ranks-1, strings.Count(errs.String(), sawDeath), "%s\n%s", says, errs.String())

		requireNoChildren(t)
		require.Equal(t, before, filesOfJobs(t), says)
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Empty(t, left, says)
	}
}

// filesOfJobs returns what a job could have left under a name. Other programs
// use these directories at the same time.
func filesOfJobs(t *testing.T) (names []string) {
	for _, dir := range []string{"/dev/shm", "/tmp", "/var/tmp", "/run"} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			if strings.Contains(e.Name(), "exanet-job") {
				names = append(names, dir+"/"+e.Name())
			}
		}
	}
	return names
}

package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func init() {
	roles["collectives"] = collectivesRole
}

// collectivesRole makes collectives of many sizes between processes. With an
// argument, rank 1 forces another algorithm than the others.
func collectivesRole(args []string) int {
	if len(args) > 0 && os.Getenv("EXANET_RANK") == "1" {
		_ = os.Setenv("EXANET_COLL", args[0])
	}
	world, err := mpi.Init()
	for n := 1; err == nil && n <= 1<<17; n *= 8 {
		err = exchangeAll(world, n)
	}
	if err == nil {
		err = mpi.Finalize()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// exchangeAll makes collectives with n numbers a rank, all in flight at once.
func exchangeAll(c *mpi.Comm, n int) error {
	p, me := c.Size(), c.Rank()
	value := func(from, to, i int) int { return 1000*from + 10*to + i%7 }
	block := func(from, to int) []int {
		b := make([]int, n)
		for i := range b {
			b[i] = value(from, to, i)
		}
		return b
	}
	root, sum, all, part := make([]int, n), make([]int, n), make([]int, n*p), make([]int, n)
	if me == p-1 {
		copy(root, block(p-1, 0))
	}
	var row, column []int
	for r := range p {
		row, column = append(row, block(me, r)...), append(column, make([]int, n)...)
	}
	var reqs []*mpi.Request
	for _, begin := range []func() (*mpi.Request, error){
		func() (*mpi.Request, error) { return mpi.Ibcast(c, root, p-1) },
		func() (*mpi.Request, error) { return mpi.Iallreduce(c, block(me, 0), sum, mpi.Sum) },
		func() (*mpi.Request, error) { return mpi.Iallgather(c, block(me, 0), all) },
		func() (*mpi.Request, error) { return mpi.Ialltoall(c, row, column) },
		func() (*mpi.Request, error) { return mpi.IreduceScatterBlock(c, row, part, mpi.Max) },
	} {
		q, err := begin()
		if err != nil {
			return err
		}
		reqs = append(reqs, q)
	}
	if err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	for i := range n {
		total := 0
		for r := range p {
			total += value(r, 0, i)
			if all[r*n+i] != value(r, 0, i) || column[r*n+i] != value(r, me, i) {
				return fmt.Errorf("rank %d, %d numbers: number %d of rank %d is %d and %d", me, n, i, r, all[r*n+i],
					column[r*n+i])
			}
		}
		if root[i] != value(p-1, 0, i) || sum[i] != total || part[i] != value(p-1, me, i) {
			return fmt.Errorf("rank %d, %d numbers: number %d is %d, %d and %d", me, n, i, root[i], sum[i], part[i])
		}
	}
	return nil
}

func TestCollectivesOfProcesses(t *testing.T) {
	for _, ranks := range []int{2, 5} {
		o := runJob(t, self(ranks, "collectives"))
		require.NoError(t, o.err, o.errs)
	}
}

func TestRanksMustForceTheSameAlgorithms(t *testing.T) {
	cfg := self(3, "collectives")
	cfg.Args = []string{"allreduce:ring"}
	o := runJob(t, cfg)
	require.Error(t, o.err)
	require.Contains(t, o.errs, "allreduce:ring")
}

// Also if what differs is far behind.
func TestRanksMustForceTheSameOfMany(t *testing.T) {
	const many = "barrier:tree,bcast:binomial,gather:linear,scatter:linear,allgather:ring,alltoall:pairwise,"
	t.Setenv("EXANET_COLL", many+"allreduce:tree")
	cfg := self(2, "collectives")
	cfg.Args = []string{many + "allreduce:ring"}
	o := runJob(t, cfg)
	require.Error(t, o.err)
	require.Contains(t, o.errs, "give all ranks the same protocol, device and algorithms")
}

// Tables count by what they say, not by their names.
func TestRanksMustHaveTheSameTable(t *testing.T) {
	dir := t.TempDir()
	table := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return "@" + name
	}
	t.Setenv("EXANET_COLL", table("a", "allreduce any 4 tree\n"))
	cfg := self(2, "collectives")
	cfg.Args = []string{table("b", "# the same\nallreduce any 4 tree\n")}
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	cfg.Args = []string{table("c", "allreduce any 3 tree\n")}
	o = runJob(t, cfg)
	require.Error(t, o.err)
	require.Regexp(t, `rank [01] uses [^\n]* on host, [^\n]*table [0-9a-f]{8} and rank [01] uses [^\n]* on host, `+
		`[^\n]*table [0-9a-f]{8}`, o.errs)
}

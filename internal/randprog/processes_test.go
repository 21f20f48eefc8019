package randprog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

// What this test binary does when a test runs it again. Each role runs the
// next: a confined process, the launcher, the ranks.
const (
	roleVar  = "EXANET_TEST_ROLE"
	confined = "confined" // installs a filter first
	launcher = "launcher" // RANKS FIRST PROGRAMS HANG
	rankRole = "rank"     // FIRST PROGRAMS HANG
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case confined:
		fmt.Fprintln(os.Stderr, "cannot confine:", confine())
		os.Exit(4)
	case launcher:
		os.Exit(launcherMain(os.Args[1:]))
	case rankRole:
		os.Exit(rankMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// launcherMain runs a job of RANKS.
func launcherMain(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(roleVar, rankRole); err != nil {
		panic(err)
	}
	j, err := launch.Start(context.Background(), launch.Config{
		Ranks: n, Prog: "/proc/self/exe", Args: args[1:], Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err == nil {
		err = j.Wait()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// report is what a rank process prints at its end, as a line of JSON.
type report struct {
	Tally    Tally
	Counters map[string]uint64
}

// rankMain plays PROGRAMS programs from seed FIRST on.
func rankMain(args []string) int {
	first, err1 := strconv.ParseUint(args[0], 10, 64)
	programs, err2 := strconv.Atoi(args[1])
	limit, err3 := time.ParseDuration(args[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err)
	}
	world, err := mpi.Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var list []*Program
	for i := range uint64(programs) {
		list = append(list, Generate(first+i, world.Size()))
	}
	watch := NewWatch(limit, 1, func(text string) {
		fmt.Fprintf(os.Stderr, "rank %d: %s\n", world.Rank(), text)
		time.Sleep(limit / 2) // the others report as well
		os.Exit(3)
	})
	tally, failure := Play(overMPI{world}, list, watch)
	watch.Stop()
	line, err := json.Marshal(report{tally, world.Counters()})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	if err := errors.Join(failure, mpi.Finalize()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runJob runs a job of n processes in a role, with variables added to the
// environment, and adds up what its ranks report.
func runJob(t *testing.T, role string, n int, first uint64, programs int, env []string, total *Tally, c *counters) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", strconv.Itoa(n), strconv.FormatUint(first, 10), strconv.Itoa(programs),
		hangFlag.String())
	cmd.Env = append(append(os.Environ(), roleVar+"="+role), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	require.NoError(t, err, "%d ranks, seeds from %d:\n%s", n, first, &errs)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, n)
	for _, line := range lines {
		var r report
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		total.Add(r.Tally)
		c.add(r.Counters)
	}
}

// runJobs runs jobs of 2 to 6 processes in turn. Each plays many programs in
// one world, so that one program meets what another has left behind.
func runJobs(t *testing.T, role string, jobs, programs int, env ...string) (Tally, map[string]uint64) {
	t.Helper()
	if underRace {
		jobs, programs = maxRanks-1, programs/4
	}
	if *programsFlag > 0 {
		jobs, programs = (*programsFlag+programs-1)/programs, min(programs, *programsFlag)
	}
	var total Tally
	var c counters
	for job := range jobs {
		n := 2 + job%(maxRanks-1)
		runJob(t, role, n, *firstFlag+uint64(job*programs), programs, env, &total, &c)
	}
	t.Logf("%+v", total)
	t.Logf("%v", c.n)
	return total, c.n
}

// Programs of processes.
func TestProcesses(t *testing.T) {
	_, n := runJobs(t, launcher, 25, 160)
	if !underRace && *programsFlag == 0 {
		requireCoverage(t, n)
	}
}

// Processes that may not write into each other's memory.
func TestProcessesWithoutAttach(t *testing.T) {
	_, n := runJobs(t, confined, 10, 100)
	require.NotZero(t, n["writes"])
}

// Messages of at most 64 bytes, as on the prototype.
func TestProcessesPrototypeMessages(t *testing.T) {
	_, n := runJobs(t, launcher, 10, 100, "EXANET_DEVICE=prototype")
	require.NotZero(t, n["writes"])
}

// The prototype's register pages, as software.
func TestProcessesRegisters(t *testing.T) {
	_, n := runJobs(t, launcher, 10, 60, "EXANET_DEVICE=registers")
	require.NotZero(t, n["writes"])
}

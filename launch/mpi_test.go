package launch_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() {
	roles["end"] = endRole
	roles["good"] = goodRole
}

// endRole is a job whose rank 1 ends in the way that args[0] names while the
// others wait for it.
func endRole(args []string) int {
	if os.Getenv("EXANET_RANK") == "1" && args[0] == "exit without Init" {
		return 0
	}
	world, err := mpi.Init()
	if err == nil && world.Rank() == 1 {
		switch args[0] {
		case "exit 0":
			os.Exit(0)
		case "exit 5":
			os.Exit(5)
		case "panic":
			panic("on purpose")
		case "Abort(7)":
			world.Abort(7)
		case "Abort(256)": // which would be 0
			world.Abort(256)
		case "SIGKILL":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case "SIGTERM":
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			select {}
		case "exec":
			err := syscall.Exec("/bin/true", []string{"true"}, nil)
			panic(err)
		case "for ever":
			fmt.Println("ready")
			time.Sleep(time.Hour)
		}
	}
	if err == nil {
		buf := make([]int32, 3)
		_, err = mpi.Recv(world, buf, 1, 42)
	}
	if errors.Is(err, mpi.ErrProcFailed) {
		fmt.Println(sawDeath)
		return 3
	}
	fmt.Println(unexpected, err)
	return 4
}

// goodRole is a program without faults.
func goodRole(args []string) int {
	world, err := mpi.Init()
	if err == nil {
		sum := make([]int, 1)
		err = mpi.Allreduce(world, []int{world.Rank()}, sum, mpi.Sum)
		fmt.Printf("%d of %d: %d\n", world.Rank(), world.Size(), sum[0])
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

func TestOthersSeeTheEndOfARank(t *testing.T) {
	defer launch.BePatient(time.Hour)() // they end by themselves
	for how, c := range map[string]struct {
		rank, code int
		says       string
	}{
		"exit 0":  {1, 1, "without Finalize"},
		"exit 5":  {1, 5, "code 5"},
		"panic":   {1, 2, "code 2"},
		"SIGKILL": {1, 137, "SIGKILL"},
		// Both the rank and the launcher say so.
		"Abort(7)":   {1, 7, "exanet: rank 1 called Abort with code 7"},
		"Abort(256)": {1, 1, "exanet: rank 1 called Abort with code 256"},
		"SIGTERM":    {1, 143, "SIGTERM"},
		"exec":       {1, 1, "without Finalize"},
		// It has done nothing wrong; the first failure is another rank's.
		"exit without Init": {-1, 3, "code 3"},
	} {
		t.Run(how, func(t *testing.T) {
			cfg := self(4, "end")
			cfg.Args = []string{how}
			o := runJob(t, cfg)
			var re *launch.RankError
			require.ErrorAs(t, o.err, &re)
			if c.rank >= 0 {
				require.Equal(t, c.rank, re.Rank, o.errs)
			}
			require.Equal(t, c.code, re.ExitCode(), o.errs)
			require.Contains(t, o.errs, c.says)
			require.Equal(t, strings.Repeat(sawDeath+"\n", 3), o.out)
			if how == "panic" {
				require.Less(t, strings.Index(o.errs, "on purpose"), strings.Index(o.errs, "exanet: rank 1"), o.errs)
			}
		})
	}
}

func TestGoodProgram(t *testing.T) {
	for _, c := range []struct {
		n, nodes int
		device   string
	}{
		{1, 0, ""}, {2, 0, "host"}, {5, 0, ""}, {3, 0, "prototype"}, {1, 0, "registers"}, {3, 0, "registers"},
		{1, 1, "registers"}, {4, 4, "registers"}, {5, 3, "registers"},
	} {
		n := c.n
		cfg := self(n, "good")
		cfg.Nodes = c.nodes
		cfg.Env = append(cfg.Env, "EXANET_DEVICE=overridden", "EXANET_DEVICE="+c.device)
		o := runJob(t, cfg)
		require.NoError(t, o.err, o.errs)
		var want []string
		for rank := range n {
			want = append(want, fmt.Sprintf("%d of %d: %d", rank, n, n*(n-1)/2))
		}
		require.ElementsMatch(t, want, strings.Split(strings.TrimSuffix(o.out, "\n"), "\n"))
	}
}

// wrapped is the same program below a shell.
func wrapped(cfg launch.Config, script string) launch.Config {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cfg.Args = append([]string{"-c", script, "sh", exe}, cfg.Args...)
	cfg.Prog = "sh"
	return cfg
}

func TestWrappedProgram(t *testing.T) {
	o := runJob(t, wrapped(self(3, "good"), `"$@" || exit; echo wrapped`))
	require.NoError(t, o.err, o.errs)
	require.Equal(t, 3, strings.Count(o.out, ": 3\n"))
	require.Equal(t, 3, strings.Count(o.out, "wrapped\n"))

	cfg := self(3, "end")
	cfg.Args = []string{"SIGKILL"}
	o = runJob(t, wrapped(cfg, `"$@"; exit $?`))
	require.Equal(t, 137, exitCode(o.err), o.errs)
	require.Contains(t, o.errs, "rank 1 ")
}

func TestJobInsideAJob(t *testing.T) {
	cfg := self(2, "launch")
	exe, err := os.Executable()
	require.NoError(t, err)
	cfg.Args = []string{"3", "env", roleVar + "=good", exe}
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	require.Equal(t, 6, strings.Count(o.out, "of 3: 3\n"), o.out)
}

func TestReportOfWaitingRanks(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	l := startLauncher(t, 3, "env", roleVar+"=end", exe, "for ever")
	l.await(t, "ready", 1)
	says := func() string { return l.err.String() }
	// Ranks in order. Rank 0 receives from rank 1 with tag 42, once it is out of Init.
	report := regexp.MustCompile(`what the ranks wait for:\n  rank 0 \(pid \d+\) .*\b1\b.*\b42\b.*\n(  rank 0 ` +
		`.*\n)*(  rank 1 .*\n)+(  rank 2 .*\n)+$`)
	eventually(t, func() bool {
		l.signal(t, syscall.SIGUSR1)
		time.Sleep(50 * time.Millisecond)
		return report.MatchString(says())
	}, says)
	l.signal(t, syscall.SIGINT)
	require.Equal(t, 130, l.wait(t), says())
}

// The kernel ends only the direct children of a killed launcher: what runs
// below a wrapper finds out by the control socket.
func TestWrappedRanksGoWithAKilledLauncher(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	l := startLauncher(t, 3, "sh", "-c", roleVar+`=end "$0" "for ever" & echo pid $!; wait`, exe)
	l.await(t, "pid", 3)
	l.await(t, "ready", 1)
	require.NoError(t, l.Process.Kill())
	for _, line := range strings.Fields(strings.NewReplacer("pid", "", "ready", "").Replace(l.out.String())) {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		eventually(t, func() bool { return !alive(t, pid) }, func() string {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			return "a rank survives its launcher: " + string(status)
		})
	}
}

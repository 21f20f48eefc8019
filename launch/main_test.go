package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/test/collect"
	"github.com/exanet-mpi/exanet/test/unignored"
)

// roles are what this test binary does when a test runs it again, as the
// launcher or as a rank of a job.
var roles = map[string]func(args []string) int{
	"launch": launchRole,
}

const (
	roleVar         = "EXANET_TEST_ROLE"
	patientVar      = "EXANET_TEST_PATIENT"   // if set, the launcher waits for long until it kills
	processLimitVar = "EXANET_TEST_PROCESSES" // RLIMIT_NPROC for the launcher
	ballastVar      = "EXANET_TEST_BALLAST"   // bytes of memory that the launcher has
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(roles[role](os.Args[1:]))
	}
	unignored.Signals()
	os.Exit(m.Run())
}

// launchRole runs a job: N PROG ARGS.
func launchRole(args []string) int {
	os.Unsetenv(roleVar)
	if limit, err := strconv.ParseUint(os.Getenv(processLimitVar), 10, 32); err == nil {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
	if size, err := strconv.Atoi(os.Getenv(ballastVar)); err == nil {
		defer runtime.KeepAlive(touched(size))
	}
	if os.Getenv(patientVar) != "" {
		launch.BePatient(time.Hour)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	j, err := launch.Start(context.Background(), launch.Config{
		Ranks: n, Prog: args[1], Args: args[2:],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err == nil {
		err = j.Wait()
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		var rank *launch.RankError
		if !errors.As(err, &rank) { // those have been named already
			fmt.Fprintln(os.Stderr, err)
		}
		return coded.ExitCode()
	}
	fmt.Fprintln(os.Stderr, err)
	return 99
}

// launcher is a process that runs a job.
type launcher struct {
	*exec.Cmd
	out, err collect.Buffer
	ended    chan struct{}
}

// prepareLauncher makes a launcher of n ranks of a program.
func prepareLauncher(n int, prog string, args ...string) *launcher {
	l := &launcher{
		Cmd:   exec.Command("/proc/self/exe", append([]string{strconv.Itoa(n), prog}, args...)...),
		ended: make(chan struct{}),
	}
	l.Cmd.Env = append(os.Environ(), roleVar+"=launch")
	l.Cmd.Stdout, l.Cmd.Stderr = &l.out, &l.err
	return l
}

func (l *launcher) start(t *testing.T) {
	t.Helper()
	require.NoError(t, l.Start())
	go func() {
		_ = l.Cmd.Wait()
		close(l.ended)
	}()
	t.Cleanup(func() {
		_ = l.Process.Kill()
		<-l.ended
	})
}

func startLauncher(t *testing.T, n int, prog string, args ...string) *launcher {
	t.Helper()
	l := prepareLauncher(n, prog, args...)
	l.start(t)
	return l
}

// await returns once text has appeared on standard output n times.
func (l *launcher) await(t *testing.T, text string, n int) {
	t.Helper()
	eventually(t, func() bool { return strings.Count(l.out.String(), text) >= n },
		func() string { return fmt.Sprintf("output %q, errors %q", l.out.String(), l.err.String()) })
}

func (l *launcher) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, l.Process.Signal(s))
}

// wait returns the exit code, as a shell would show it.
func (l *launcher) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(patience):
		t.Fatalf("the launcher does not end: output %q, errors %q", l.out.String(), l.err.String())
	}
	ws := l.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// outcome is what a job has printed and how it ended.
type outcome struct {
	out, errs string
	err       error
}

// runJob runs a job in this process.
func runJob(t *testing.T, cfg launch.Config) outcome {
	t.Helper()
	var out, errs collect.Buffer
	if cfg.Stdout == nil {
		cfg.Stdout = &out
	}
	cfg.Stderr = &errs
	j, err := launch.Start(t.Context(), cfg)
	if err == nil {
		err = waitJob(t, j, &errs)
	}
	requireNoChildren(t)
	return outcome{out.String(), errs.String(), err}
}

func waitJob(t *testing.T, j *launch.Job, errs *collect.Buffer) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- j.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		j.Report()
		time.Sleep(500 * time.Millisecond)
		t.Fatalf("the job does not end; errors: %s", errs.String())
		return nil
	}
}

func shell(script string) launch.Config {
	return launch.Config{Ranks: 1, Prog: "sh", Args: []string{"-c", script}}
}

// patience is how long tests wait for what should be there at once, but for a machine that is busy with other things.
const patience = time.Minute

// eventually polls until ok, and fails with what says if that does not come.
func eventually(t *testing.T, ok func() bool, says func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("gave up waiting: " + says())
		}
	}
}

// process is a line of the process table.
type process struct {
	pid, parent int
	state       byte
	name        string
}

func processes(t *testing.T) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var ps []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		i, k := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		f := strings.Fields(string(stat[k+1:]))
		parent, err := strconv.Atoi(f[1])
		require.NoError(t, err)
		ps = append(ps, process{pid, parent, f[0][0], string(stat[i+1 : k])})
	}
	return ps
}

func requireNoChildren(t *testing.T) {
	t.Helper()
	for _, p := range processes(t) {
		require.NotEqual(t, os.Getpid(), p.parent, "a child is left: %+v", p)
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	for _, p := range processes(t) {
		if p.pid == pid {
			return p.state != 'Z' && p.state != 'X'
		}
	}
	return false
}

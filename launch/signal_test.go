package launch_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSignalsReachWrappersAndTheirChildren(t *testing.T) {
	for s, name := range map[syscall.Signal]string{
		syscall.SIGUSR2: "USR2", syscall.SIGWINCH: "WINCH", syscall.SIGHUP: "HUP", syscall.SIGALRM: "ALRM",
	} {
		t.Run(name, func(t *testing.T) {
			// The trap of a shell runs between commands: two shells, each
			// with short ones.
			script := strings.ReplaceAll(`trap 'echo got it; exit 0' SIG
				sh -c 'trap "echo got it too; exit 0" SIG; echo ready; while :; do sleep 0.02; done' &
				while :; do sleep 0.02; done`, "SIG", name)
			l := startLauncher(t, 3, "sh", "-c", script)
			l.await(t, "ready", 3)
			l.signal(t, s)
			require.Equal(t, 0, l.wait(t), l.err.String())
			require.Equal(t, 3, strings.Count(l.out.String(), "got it\n"))
		})
	}
}

func TestInterrupt(t *testing.T) {
	const (
		obeys   = "echo ready; exec sleep 1000"
		refuses = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
		tidies  = "trap 'sleep 0.7; echo tidy; exit 0' INT TERM; echo ready; while :; do sleep 0.02; done"
	)
	for _, c := range []struct {
		name    string
		script  string
		signals []syscall.Signal
		code    int
		patient string // if not empty, the job ends without the launcher's deadline
	}{
		{"SIGINT", obeys, []syscall.Signal{syscall.SIGINT}, 130, "1"},
		{"SIGTERM", obeys, []syscall.Signal{syscall.SIGTERM}, 143, "1"},
		{"tidy", tidies, []syscall.Signal{syscall.SIGINT}, 0, "1"},
		{"stubborn", refuses, []syscall.Signal{syscall.SIGTERM}, 137, ""},
		{"SIGINT twice", refuses, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 137, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := prepareLauncher(3, "sh", "-c", c.script)
			l.Env = append(l.Env, patientVar+"="+c.patient)
			l.start(t)
			l.await(t, "ready", 3)
			for _, s := range c.signals {
				l.signal(t, s)
				time.Sleep(100 * time.Millisecond) // equal signals would merge
			}
			require.Equal(t, c.code, l.wait(t))
			require.Empty(t, l.err.String())
			if c.code == 0 {
				require.Equal(t, 3, strings.Count(l.out.String(), "tidy"))
			}
		})
	}
}

func TestIgnoredSignalsStayIgnored(t *testing.T) {
	l := prepareLauncher(1, "sh", "-c", "echo ready; sleep 0.5; echo survived")
	l.Cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec /proc/$PPID/exe "$@"`, "sh"}, l.Cmd.Args[1:]...)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	l.Cmd.Path = sh
	l.start(t)
	l.await(t, "ready", 1)
	l.signal(t, syscall.SIGHUP)
	require.Equal(t, 0, l.wait(t))
	require.Contains(t, l.out.String(), "survived")
}

func TestRanksGoWithAKilledLauncher(t *testing.T) {
	l := startLauncher(t, 4, "sh", "-c", "trap '' TERM INT HUP; echo ready; while :; do read x || sleep 0.1; done")
	l.await(t, "ready", 4)
	ranks := childrenOf(t, l.Process.Pid)
	require.Len(t, ranks, 4)
	// Threads of the launcher come and go; the ranks must stay until it ends.
	time.Sleep(200 * time.Millisecond)
	for _, pid := range ranks {
		require.True(t, alive(t, pid))
	}
	require.NoError(t, l.Process.Kill())
	for _, pid := range ranks {
		eventually(t, func() bool { return !alive(t, pid) }, func() string { return "a rank survives its launcher" })
	}
}

func TestReport(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGQUIT} {
		l := startLauncher(t, 4, "sh", "-c", `
			echo ready
			case $EXANET_RANK in
			0) exit 0;;
			1) kill -STOP $$;;
			2) sh -c 'kill -STOP $$';;
			3) exec sleep 100;;
			esac`)
		l.await(t, "ready", 4)
		says := func() string { return l.err.String() }
		eventually(t, func() bool {
			l.signal(t, s)
			time.Sleep(20 * time.Millisecond)
			said := l.err.String()
			return strings.Count(said, "is stopped") >= 2 && strings.Contains(said, "has ended")
		}, says) // the ranks come to it one after the other: asked until all have
		require.Regexp(t, `(?m)^  rank 0 \(pid \d+\) has ended$`, l.err.String())
		require.Regexp(t, `(?m)^  rank 1 \(pid \d+\) is stopped`, l.err.String())
		require.Regexp(t, `(?m)^  rank 2 \(pid \d+\) is stopped`, l.err.String())
		require.Regexp(t, `(?m)^  rank 3 \(pid \d+\) is running and has not called Init$`, l.err.String())
		l.signal(t, syscall.SIGTERM)
		require.NotEqual(t, 0, l.wait(t))
	}
}

// A job that is interrupted while its ranks are started ends with the code of the signal, too.
func TestInterruptedStart(t *testing.T) {
	for name, code := range map[string]int{"INT": 130, "TERM": 143} {
		t.Run(name, func(t *testing.T) {
			l := startLauncher(t, 300, "sh", "-c",
				"[ $EXANET_RANK != 0 ] || kill -"+name+" $PPID; exec sleep 1000")
			require.Equal(t, code, l.wait(t), l.err.String())
		})
	}
}

package launch_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/test/collect"
)

// endless is an input that has always more.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestInputGoesToRankZero(t *testing.T) {
	const text = "one\ntwo\n"
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	pipe, w, err := os.Pipe()
	require.NoError(t, err)
	defer pipe.Close()
	_, err = w.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	closed, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, closed.Close())

	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"file":   {file, text},
		"pipe":   {pipe, text},
		"reader": {strings.NewReader(text), text},
		"none":   {nil, ""},
		"closed": {closed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := shell(`sed "s/^/$EXANET_RANK /"`)
			cfg.Ranks, cfg.Stdin = 3, c.in
			o := runJob(t, cfg)
			require.NoError(t, o.err, o.errs)
			want := ""
			if c.want != "" {
				want = "0 one\n0 two\n"
			}
			require.Equal(t, want, o.out)
		})
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	never, w, err := os.Pipe()
	require.NoError(t, err)
	defer never.Close()
	defer w.Close()
	for name, in := range map[string]io.Reader{"endless": endless{}, "silent": never,
		"silent reader": io.MultiReader(never)} {
		t.Run(name, func(t *testing.T) {
			o := runJob(t, launch.Config{Ranks: 2, Prog: "sleep", Args: []string{"0.2"}, Stdin: in})
			require.NoError(t, o.err)
		})
	}
}

// A shell loop that runs a job on each line must find its other lines again.
func TestInputIsNotReadAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for _, want := range []string{"one\n", "two\n"} {
		cfg := shell("read line; echo $line")
		cfg.Stdin = file
		require.Equal(t, want, runJob(t, cfg).out)
	}
}

// onTerminal starts a launcher whose input and output is a terminal, as the
// leader of its session.
func onTerminal(t *testing.T, l *launcher) (keyboard *os.File, screen *collect.Buffer) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer slave.Close()
	l.Cmd.Stdin, l.Cmd.Stdout, l.Cmd.Stderr = slave, slave, slave
	l.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	l.start(t)
	screen = new(collect.Buffer)
	go func() { _, _ = io.Copy(screen, master) }()
	return master, screen
}

func TestTerminal(t *testing.T) {
	l := prepareLauncher(2, "sh", "-c",
		`[ $EXANET_RANK = 0 ] || exit 0; printf "name? "; read name; echo "hello $name"; cat; echo over`)
	keyboard, screen := onTerminal(t, l)
	shows := func(text string) {
		t.Helper()
		eventually(t, func() bool { return strings.Contains(screen.String(), text) }, screen.String)
	}
	shows("name? ") // a prompt is not a whole line
	_, err := keyboard.WriteString("ada\n")
	require.NoError(t, err)
	shows("hello ada")
	_, err = keyboard.WriteString("\x04") // ^D
	require.NoError(t, err)
	shows("over")
	require.Equal(t, 0, l.wait(t))
}

func TestTerminalKeys(t *testing.T) {
	l := prepareLauncher(2, "sh", "-c", `trap 'echo continued' CONT; echo ready; sleep 100 & wait; wait`)
	keyboard, screen := onTerminal(t, l)
	eventually(t, func() bool { return strings.Count(screen.String(), "ready") == 2 }, screen.String)
	ranks := childrenOf(t, l.Process.Pid)
	require.Len(t, ranks, 2)

	// ^Z stops the ranks as well as the launcher, which gets it alone.
	_, err := keyboard.WriteString("\x1a")
	require.NoError(t, err)
	stopped := func() bool {
		n := 0
		for _, p := range processes(t) {
			if p.state == 'T' && (p.pid == l.Process.Pid || p.parent == l.Process.Pid) {
				n++
			}
		}
		return n == 3
	}
	eventually(t, stopped, func() string { return fmt.Sprint(processes(t)) })
	l.signal(t, syscall.SIGCONT)
	eventually(t, func() bool { return strings.Count(screen.String(), "continued") == 2 }, screen.String)

	_, err = keyboard.WriteString("\x03")
	require.NoError(t, err)
	require.Equal(t, 130, l.wait(t), screen.String())
	for _, pid := range ranks {
		require.False(t, alive(t, pid))
	}
}

// A job in the background leaves the terminal to the shell.
func TestTerminalInTheBackground(t *testing.T) {
	l := prepareLauncher(1, "sh", "-c", "echo ready; sleep 0.5; echo finished")
	exe, err := os.Executable()
	require.NoError(t, err)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	l.Cmd.Path = sh
	l.Cmd.Args = append([]string{"sh", "-c", `set -m; "$@" & wait; echo waited`, "sh", exe}, l.Cmd.Args[1:]...)
	keyboard, screen := onTerminal(t, l)
	eventually(t, func() bool { return strings.Contains(screen.String(), "ready") }, screen.String)
	_, err = keyboard.WriteString("for the shell\n")
	require.NoError(t, err)
	require.Equal(t, 0, l.wait(t), screen.String())
	eventually(t, func() bool { return strings.Contains(screen.String(), "waited") }, screen.String)
	require.Contains(t, screen.String(), "finished")
	require.NotContains(t, screen.String(), "Stopped")
}

func childrenOf(t *testing.T, pid int) (pids []int) {
	for _, p := range processes(t) {
		if p.parent == pid {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

package main

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/launch"
)

// With --timeout or a model of the hardware, the preloaded command is a child of this process. With --timeout, its
// ranks connect to a socket whose name is in their environment: see mpi/control.go.

const (
	answerTime = time.Second     // for all ranks' answers together
	killAfter  = 2 * time.Second // SIGTERM
)

// watch has the connections of a job's ranks.
type watch struct {
	l     *net.UnixListener
	mu    sync.Mutex
	ranks []watchedRank
}

type watchedRank struct {
	number int
	conn   net.Conn
	in     *bufio.Reader
}

func newWatch() (*watch, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "@exanet-" + rand.Text()})
	if err != nil {
		return nil, err
	}
	w := &watch{l: l}
	go w.accept()
	return w, nil
}

func (w *watch) name() string { return w.l.Addr().String() }

func (w *watch) accept() {
	for {
		c, err := w.l.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			r := watchedRank{conn: c, in: bufio.NewReader(c)}
			text, err := r.in.ReadString(0)
			if r.number, _ = strconv.Atoi(strings.TrimSuffix(text, "\x00")); err != nil || !ownUser(c) {
				c.Close()
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ranks = append(w.ranks, r)
		}()
	}
}

// ownUser reports whether a process of this user is at the other end: the name of an abstract socket has no
// permissions.
func ownUser(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	own := false
	err = raw.Control(func(fd uintptr) {
		uid, err := sys.PeerUser(int(fd))
		own = err == nil && uid == os.Getuid()
	})
	return err == nil && own
}

// report writes what the ranks wait for.
func (w *watch) report(out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ranks) == 0 {
		fmt.Fprintln(out, "exanet: no rank has got through MPI_Init over this stack")
		return
	}
	until := time.Now().Add(answerTime)
	for _, r := range w.ranks {
		_ = r.conn.SetDeadline(until)
		_, _ = r.conn.Write([]byte{'w'})
	}
	slices.SortFunc(w.ranks, func(a, b watchedRank) int { return cmp.Compare(a.number, b.number) })
	fmt.Fprintln(out, "exanet: what the ranks wait for:")
	for _, r := range w.ranks {
		text, err := r.in.ReadString(0)
		switch {
		case err == nil:
		case os.IsTimeout(err):
			text = "is running and does not answer"
		default:
			text = "has ended"
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\n") {
			fmt.Fprintf(out, "  rank %d %s\n", r.number, line)
		}
	}
}

// runChild runs a command, for so long at most; 0: as long as it likes.
func (f *preloadFlags) runChild(cmd *cobra.Command, words []string, timeout time.Duration) error {
	var w *watch
	var due <-chan time.Time
	if timeout != 0 {
		var err error
		if w, err = newWatch(); err != nil {
			return err
		}
		defer w.l.Close()
		f.env = append(f.env, env.Watch+"="+w.name())
	}
	p, err := f.plan(cmd, words)
	if err != nil {
		return err
	}
	c := exec.Cmd{Path: p.Path, Args: p.Words, Env: p.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	terminal := isTerminal(os.Stdin)
	if !terminal { // a signal to this process group is passed on below, and not to reach the command twice
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.SysProcAttr = sys.WithParent(syscall.SysProcAttr{Setpgid: true})
	}
	signals := make(chan os.Signal, 8) // those that a terminal sends get to the command by themselves
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", p.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	if timeout != 0 {
		due = time.After(timeout)
	}
	var kill <-chan time.Time
	var late error
	for {
		select {
		case err := <-ended:
			if late != nil {
				return late
			}
			return commandError(err)
		case s := <-signals:
			if s != syscall.SIGINT && s != syscall.SIGQUIT || !terminal {
				_ = c.Process.Signal(s)
			}
		case <-due:
			w.report(os.Stderr)
			late = &launch.TimeoutError{Timeout: timeout}
			fmt.Fprintln(os.Stderr, "exanet: "+late.Error())
			_ = c.Process.Signal(syscall.SIGTERM)
			kill = time.After(killAfter)
		case <-kill:
			_ = c.Process.Kill()
		}
	}
}

// commandExit is a command that has failed, with its own exit code; it has said why itself.
type commandExit int

func (e commandExit) Error() string {
	return fmt.Sprintf("the command has exited with code %d", int(e))
}

func (e commandExit) ExitCode() int { return int(e) }

func commandError(err error) error {
	exit, ok := err.(*exec.ExitError)
	if !ok {
		return err
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return commandExit(128 + int(status.Signal()))
	}
	return commandExit(exit.ExitCode())
}

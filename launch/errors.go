package launch

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Exit codes for a job that could not be started, as shells use them; codeSetting is for a mistake in a setting.
const (
	codeLimit         = 1
	codeSetting       = 2
	codeNotExecutable = 126
	codeNotFound      = 127
	codeInterrupted   = 128 + int(syscall.SIGINT)
)

// ErrLimit means that the host does not let us have that many processes, file
// descriptors or that much shared memory.
var ErrLimit = errors.New("a limit of this host is reached")

// ErrInterrupted means that the user, or the context, has ended the job while
// it was being started.
var ErrInterrupted = errors.New("interrupted")

// StartError says why a job could not be started. Nothing of it is left.
type StartError struct {
	What string // what was to be started, or how many
	Err  error
	code int
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start %s: %v", e.What, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ExitCode is what a command line should exit with: 127 for a program that
// does not exist, 126 for one that cannot be executed, 130 for an interrupted
// start, 2 for a setting that is wrong here, 1 for the rest.
func (e *StartError) ExitCode() int { return e.code }

// OutputError says that the ranks have ended well but that some of what they
// printed could not be written.
type OutputError struct{ Err error }

func (e *OutputError) Error() string {
	return fmt.Sprintf("part of the ranks' output is lost: %v", e.Err)
}

func (e *OutputError) Unwrap() error { return e.Err }

// TimeoutError says that a job has taken longer than Config.Timeout.
type TimeoutError struct{ Timeout time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the job has not ended within %v, and is ended", e.Timeout)
}

// ExitCode is that of timeout(1).
func (e *TimeoutError) ExitCode() int { return 124 }

// RankError says which rank of a job failed first, and how.
type RankError struct {
	Rank, Pid int
	Signal    syscall.Signal // that killed it; 0 if it exited by itself
	Core      bool           // it left a core dump
	Code      int            // it exited with; 0 means: after Init, without Finalize
	NoMemory  bool           // the kernel has killed processes for want of memory while the job ran
	LostPeer  bool           // after one of another host, and maybe because of that
	Host      string         // of a job on several

	peer int // the first of another host that was lost, -1 if that is not known
}

func (j *Job) rankError(r *rank, end sys.End) *RankError {
	e := &RankError{Rank: r.number, Pid: r.pid, Signal: end.Signal, Core: end.Core, Code: end.Code, Host: j.cfg.Host}
	if end.Signal == syscall.SIGKILL {
		now, ok := memoryKills()
		e.NoMemory = ok && now > j.memoryKills
	}
	return e
}

// brokenPipe reports whether the rank ended because nobody read what it wrote:
// it, or the program that a shell ran for it.
func (e *RankError) brokenPipe() bool {
	return e.Signal == syscall.SIGPIPE || e.Signal == 0 && e.Code == 128+int(syscall.SIGPIPE)
}

func (e *RankError) Error() string {
	on := ""
	if e.Host != "" {
		on = " on " + e.Host
	}
	return fmt.Sprintf("rank %d (pid %d%s) %s", e.Rank, e.Pid, on, e.Cause())
}

// Cause is what happened, as a predicate: "exited with code 3".
func (e *RankError) Cause() string {
	switch {
	case e.Signal == syscall.SIGKILL && e.NoMemory:
		return "was killed by SIGKILL, because memory ran out: start fewer ranks, or give the job more memory"
	case e.Signal == syscall.SIGKILL:
		return "was killed by SIGKILL (by someone's kill -9)"
	case e.Signal != 0 && e.Core:
		return "was killed by " + signalName(e.Signal) + " and dumped core"
	case e.Signal != 0:
		return "was killed by " + signalName(e.Signal)
	case e.Code != 0:
		return fmt.Sprintf("exited with code %d", e.Code)
	default:
		return "exited without Finalize: a program that calls Init must call Finalize before it ends"
	}
}

// ExitCode is what a command line should exit with: the code of the rank, or
// 128 and the number of the signal, as in shells; never 0.
func (e *RankError) ExitCode() int {
	switch {
	case e.Signal != 0:
		return 128 + int(e.Signal)
	case e.Code != 0:
		return e.Code
	default:
		return 1
	}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

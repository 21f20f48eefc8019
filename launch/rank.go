package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// rank is one process of the job.
type rank struct {
	number  int
	pid     int // and the ID of its process group
	control int // our end of the control socket
	stdout  *relay
	stderr  *relay
	ended   bool // a zombie: dead, but not reaped
	end     sys.End
	joined  bool // it had called Init when it ended
	lost    bool // reaped by somebody else
}

// startRank starts one rank. It must be called on the thread whose end shall
// kill the rank.
func (j *Job) startRank(number int, path string, stdin *os.File) (*rank, error) {
	var theirs []int // closed once the child has them
	var ours []*os.File
	control := -1
	defer func() {
		for _, fd := range theirs {
			_ = unix.Close(fd)
		}
	}()
	fail := func(err error) (*rank, error) {
		for _, f := range ours {
			_ = f.Close()
		}
		if control >= 0 {
			_ = unix.Close(control)
		}
		return nil, err
	}

	pair, err := sys.Socketpair()
	if err != nil {
		return fail(err)
	}
	control, theirs = pair[0], append(theirs, pair[1])
	for range 2 {
		f, fd, err := newPipe()
		if err != nil {
			return fail(err)
		}
		ours, theirs = append(ours, f), append(theirs, fd)
	}

	files := []uintptr{
		stdin.Fd(), uintptr(theirs[1]), uintptr(theirs[2]),
		jobFD: j.segment.File().Fd(), controlFD: uintptr(theirs[0]),
	}
	if j.device != nil {
		files = append(files, j.device.File(j.node(number)).Fd()) // pagesFD
	}
	pid, err := syscall.ForkExec(path, append([]string{j.cfg.Prog}, j.cfg.Args...), &syscall.ProcAttr{
		Env:   append(slices.Clip(j.env), env.Rank+"="+strconv.Itoa(number)),
		Files: files,
		// A group of its own, so that signals reach what a wrapper starts.
		Sys: sys.WithParent(syscall.SysProcAttr{Setpgid: true}),
	})
	if err != nil {
		return fail(err)
	}
	offer(pid)
	var label []byte
	if j.cfg.Label {
		label = fmt.Appendf(nil, "[%d] ", number)
	}
	r := &rank{
		number:  number,
		pid:     pid,
		control: control,
		stdout: &relay{src: ours[0], dst: &j.stdout, label: label,
			prompt: number == 0 && j.feed != nil && j.feed.terminal != nil},
		stderr: &relay{src: ours[1], dst: &j.stderr, label: label},
	}
	r.stdout.start()
	r.stderr.start()
	return r, nil
}

// missed reports whether the rank has ended well and without Init. That is no failure, but others may wait for it.
func (r *rank) missed() bool { return r.ended && r.end == (sys.End{}) && !r.joined }

// signal sends a signal to the rank and to what it has started.
func (r *rank) signal(sig syscall.Signal) {
	if r.lost {
		return
	}
	if syscall.Kill(-r.pid, sig) != nil {
		// It has moved to another group; the PID is still its own.
		_ = syscall.Kill(r.pid, sig)
	}
}

// reap gives the PID back to the kernel. It does not wait: a rank that even
// SIGKILL could not end is left to init.
func (r *rank) reap() {
	for {
		_, err := syscall.Wait4(r.pid, nil, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// FindProgram returns the path of a program as a shell would find it, or a *StartError.
func FindProgram(prog string) (string, error) {
	refuse := func(code int, why string) (string, error) {
		return "", &StartError{What: prog, Err: errors.New(why), code: code}
	}
	if prog == "" {
		return refuse(codeNotFound, "its name is empty")
	}
	if !strings.Contains(prog, "/") {
		path, err := exec.LookPath(prog)
		switch {
		case err == nil || errors.Is(err, exec.ErrDot):
			return path, nil
		case errors.Is(err, fs.ErrPermission):
			return refuse(codeNotExecutable, "permission denied: is it executable?")
		}
		if st, err := os.Stat(prog); err == nil && st.IsDir() {
			return refuse(codeNotFound, "not found in PATH (there is a directory of this name here)")
		} else if err == nil {
			return refuse(codeNotFound, "not found in PATH (there is one in this directory: name it ."+
				string(filepath.Separator)+prog+")")
		}
		return refuse(codeNotFound, "not found in PATH")
	}
	st, err := os.Stat(prog)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse(codeNotFound, "no such file")
	case err != nil:
		return refuse(codeNotExecutable, rootCause(err).Error())
	case st.IsDir():
		return refuse(codeNotExecutable, "it is a directory")
	case unix.Access(prog, unix.X_OK) != nil:
		return refuse(codeNotExecutable, "permission denied: is it executable?")
	}
	return prog, nil
}

// startError explains why the job could not be started, when it was rank
// number's turn.
func (j *Job) startError(number int, err error) *StartError {
	what := j.what()
	if number > 0 {
		what = fmt.Sprintf("rank %d of %d", number, j.cfg.Ranks)
	}
	var segment *host.JobError
	if errors.As(err, &segment) {
		return &StartError{What: what, Err: err, code: codeLimit}
	}
	switch rootCause(err) {
	case syscall.EAGAIN:
		return &StartError{What: what, code: codeLimit,
			Err: fmt.Errorf("%w: no more processes allowed (ulimit -u, or pids.max of the control group)", ErrLimit)}
	case syscall.EMFILE, syscall.ENFILE:
		return &StartError{What: what, code: codeLimit,
			Err: fmt.Errorf("%w: no more file descriptors (ulimit -n)", ErrLimit)}
	case syscall.ENOMEM:
		return &StartError{What: what, code: codeLimit,
			Err: fmt.Errorf("%w: out of memory", ErrLimit)}
	case syscall.ENOENT:
		return &StartError{What: j.cfg.Prog, code: codeNotExecutable,
			Err: errors.New("the file is there, but the interpreter or loader it names is not")}
	case syscall.ENOEXEC:
		return &StartError{What: j.cfg.Prog, code: codeNotExecutable,
			Err: errors.New("not a program for this machine, nor a script that begins with #!")}
	}
	return &StartError{What: j.cfg.Prog, Err: rootCause(err), code: codeNotExecutable}
}

// rootCause strips what os wraps around the error of a system call.
func rootCause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// descriptors a rank costs the launcher, and what it needs besides.
const (
	descriptorsPerRank = 3
	descriptorsBesides = 32
)

// checkLimits refuses what would certainly fail halfway.
func checkLimits(ranks int) error {
	var lim unix.Rlimit
	need := uint64(ranks)*descriptorsPerRank + descriptorsBesides
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err == nil && need > uint64(lim.Cur) {
		return &StartError{What: fmt.Sprintf("%d ranks", ranks), code: codeLimit,
			Err: fmt.Errorf("%w: they need %d file descriptors, %d are allowed (ulimit -n)", ErrLimit, need, lim.Cur)}
	}
	return nil
}

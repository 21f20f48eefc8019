package launch

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// openInput returns what becomes the standard input of rank 0. Files and pipes
// are handed over as they are: rank 0 takes from them what it reads and no
// more. A terminal cannot be, since ranks are not in its foreground process
// group and would be stopped at their first read; it is read here, like every
// other reader, by the feed that is returned as well.
func openInput(src io.Reader) (*os.File, *feed, error) {
	if src == nil {
		f, err := os.Open(os.DevNull)
		return f, nil, err
	}
	f, isFile := src.(*os.File)
	terminal := isFile && isTerminal(f)
	if isFile && !terminal {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil { // closed
			f, err := os.Open(os.DevNull)
			return f, nil, err
		}
		return os.NewFile(uintptr(fd), "stdin"), nil, nil
	}
	p, err := sys.Pipe()
	if err != nil {
		return nil, nil, err
	}
	_ = unix.SetNonblock(p[1], true)
	d := &feed{src: src, dst: os.NewFile(uintptr(p[1]), "stdin of rank 0"), resumed: make(chan struct{}, 1)}
	if terminal {
		d.terminal = f
	}
	return os.NewFile(uintptr(p[0]), "stdin"), d, nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// feed copies a reader to rank 0. Nothing waits for it: it may be stuck in a
// read that ends after the job.
type feed struct {
	src      io.Reader
	dst      *os.File // writing end of a pipe
	terminal *os.File // src, if it is one
	resumed  chan struct{}
}

func (d *feed) run() {
	defer d.dst.Close()
	b := make([]byte, 32<<10)
	for {
		if d.terminal != nil {
			d.awaitForeground()
		}
		n, err := d.src.Read(b)
		if n > 0 {
			if _, e := d.dst.Write(b[:n]); e != nil {
				return // rank 0 has ended or closed its input
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitForeground returns when the terminal has input for us. Reading it in
// the background would stop the launcher.
func (d *feed) awaitForeground() {
	fd := int(d.terminal.Fd())
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, -1); err != nil || n == 0 {
			continue
		}
		if g, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || g == unix.Getpgrp() {
			return
		}
		select {
		case <-d.resumed:
		case <-time.After(time.Second): // tcsetpgrp sends no signal
		}
	}
}

// resume tells the feed that the launcher has been continued.
func (d *feed) resume() {
	select {
	case d.resumed <- struct{}{}:
	default:
	}
}

// close ends the input of rank 0.
func (d *feed) close() {
	_ = d.dst.Close()
}

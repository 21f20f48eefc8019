package launch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

const (
	readSize = 64 << 10
	// maxLine bounds the memory that an unfinished line may take. A longer
	// line is passed on in pieces of at least this size.
	maxLine = 1 << 20
	// promptPause is how long an interactive rank 0 must have been silent for
	// its unfinished line to be shown as a prompt.
	promptPause = 50 * time.Millisecond
)

// sink is one output of the launcher, shared by the relays of all ranks.
type sink struct {
	mu     sync.Mutex
	w      io.Writer
	broken atomic.Bool // a write has failed, usually since whoever read it has gone
	lines  int         // written

	failure error // the first failed write; read when all relays have ended
}

func (s *sink) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(p)
	s.lines += bytes.Count(p, []byte{'\n'})
	if err != nil {
		s.broken.Store(true)
		if s.failure == nil {
			s.failure = err
		}
	}
	return err
}

// count returns how many lines have been written.
func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// lost returns the error of output that could not be passed on, but for a
// reader that has gone away, as in a pipeline that needs no more.
func (s *sink) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil || errors.Is(s.failure, syscall.EPIPE) {
		return nil
	}
	return &OutputError{s.failure}
}

// relay passes the output of one rank on to a sink, whole lines at a time.
type relay struct {
	src    *os.File // reading end of the rank's pipe; the relay closes it
	dst    *sink
	label  []byte      // put before each line
	prompt bool        // show an unfinished line when the rank pauses
	word   []byte      // what follows it in a line goes to heard, and is not passed on; nil: there is none
	heard  chan []byte // has room for as many as are expected; more are dropped
	done   chan struct{}

	buf   []byte
	last  []byte // line that has been passed on; to be read when the relay has ended
	shown bool   // part of the line in buf has been written already
}

// newPipe makes the pipe for a rank's output. The rank's end blocks, ours
// does not, so that a thousand ranks need no thousand threads.
func newPipe() (ours *os.File, theirs int, err error) {
	p, err := sys.Pipe()
	if err != nil {
		return nil, -1, err
	}
	_ = unix.SetNonblock(p[0], true)
	return os.NewFile(uintptr(p[0]), "rank output"), p[1], nil
}

// start begins to pass on.
func (r *relay) start() {
	r.done = make(chan struct{})
	go r.run()
}

func (r *relay) run() {
	defer close(r.done)
	// Closing our end tells a rank that still writes, by SIGPIPE, what the
	// sink has told us: nobody reads any more.
	defer r.src.Close()
	read := r.src.Read
	r.buf = make([]byte, 0, 4<<10)
	for {
		if cap(r.buf)-len(r.buf) < cap(r.buf)/2 {
			r.grow()
		}
		if r.prompt {
			r.pauseAtPrompt()
		}
		room := r.buf[len(r.buf):cap(r.buf)]
		n, err := read(room)
		r.buf = r.buf[:len(r.buf)+n]
		if n == len(room) && cap(r.buf) < readSize {
			r.grow() // a rank that writes little costs little
		}
		if n > 0 && r.passLines() != nil {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The job is over. What is in the pipe is wanted, but a
			// process that has left the job may keep it open for ever.
			_ = r.src.SetReadDeadline(time.Time{})
			read, err = r.readNow, nil
		}
		if err != nil {
			break
		}
	}
	_ = r.pass(len(r.buf))
}

// readNow reads what is there and reports an empty pipe as its end.
func (r *relay) readNow(p []byte) (n int, err error) {
	c, err := r.src.SyscallConn()
	if err != nil {
		return 0, err
	}
	e := c.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	switch {
	case e != nil:
		return 0, e
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (r *relay) grow() {
	b := make([]byte, len(r.buf), 2*cap(r.buf))
	copy(b, r.buf)
	r.buf = b
}

// passLines writes the complete lines in buf.
func (r *relay) passLines() error {
	if i := bytes.LastIndexByte(r.buf, '\n'); i >= 0 {
		return r.pass(i + 1)
	}
	if len(r.buf) >= maxLine {
		return r.pass(len(r.buf) - r.wordAtEnd())
	}
	return nil
}

// wordAtEnd returns how many bytes at the end of buf, which holds no whole line, may belong to one that is heard.
func (r *relay) wordAtEnd() int {
	if at := bytes.Index(r.buf, r.word); at >= 0 && len(r.word) > 0 {
		return len(r.buf) - at
	}
	n := max(0, len(r.word)-1)
	for !bytes.HasSuffix(r.buf, r.word[:n]) {
		n--
	}
	return n
}

// pass writes the first n bytes of buf.
func (r *relay) pass(n int) error {
	for len(r.word) > 0 {
		at := bytes.Index(r.buf[:n], r.word)
		if at < 0 {
			break
		}
		line := len(r.buf[at:n])
		if i := bytes.IndexByte(r.buf[at:n], '\n'); i >= 0 {
			line = i + 1
		}
		select {
		case r.heard <- bytes.Clone(r.buf[at+len(r.word) : at+line]):
		default:
		}
		r.buf, n = slices.Delete(r.buf, at, at+line), n-line
	}
	if n == 0 {
		return nil
	}
	out := r.buf[:n]
	if text := bytes.TrimRight(out, "\n"); len(text) > 0 {
		r.last = append(r.last[:0], text[bytes.LastIndexByte(text, '\n')+1:]...)
	}
	if len(r.label) > 0 {
		out = r.labelled(out)
	}
	err := r.dst.write(out)
	r.shown = r.buf[n-1] != '\n'
	r.buf = append(r.buf[:0], r.buf[n:]...)
	return err
}

func (r *relay) labelled(p []byte) []byte {
	out := make([]byte, 0, len(p)+16*len(r.label))
	for len(p) > 0 {
		if !r.shown {
			out = append(out, r.label...)
		}
		r.shown = false
		line := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line = p[:i+1]
		}
		out = append(out, line...)
		p = p[len(line):]
	}
	return out
}

// pauseAtPrompt waits for more output while there is an unfinished line, and
// shows that line if none comes: someone is expected to type the rest.
func (r *relay) pauseAtPrompt() {
	if len(r.buf) == 0 {
		return
	}
	fds := []unix.PollFd{{Fd: int32(r.fd()), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, int(promptPause.Milliseconds())); n == 0 {
		_ = r.pass(len(r.buf))
	}
}

func (r *relay) fd() (fd int) {
	fd = -1
	if c, err := r.src.SyscallConn(); err == nil {
		_ = c.Control(func(u uintptr) { fd = int(u) })
	}
	return fd
}

// finish lets the relay read what the pipe still holds, but wait no longer
// for more.
func (r *relay) finish() {
	_ = r.src.SetReadDeadline(time.Unix(1, 0))
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/term"
)

// Keys that a console does not pass on, or that stand for the end of the input.
const (
	ctrlC = 3
	ctrlD = 4
)

// terminal is this process's terminal as the console of a guest: raw, as the guest's kernel
// does what a terminal does for lines. Ctrl-C ends everything.
type terminal struct {
	end  func()
	raw  bool
	last bool // the input has ended
}

func newTerminal(end func()) (t *terminal, restore func(), err error) {
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return &terminal{end: end}, func() {}, nil
	}
	before, err := term.MakeRaw(in)
	if err != nil {
		return nil, nil, err
	}
	return &terminal{end: end, raw: true}, func() { _ = term.Restore(in, before) }, nil
}

func (t *terminal) Read(b []byte) (int, error) {
	if t.last {
		return 0, io.EOF
	}
	n, err := os.Stdin.Read(b)
	switch {
	case t.raw && bytes.IndexByte(b[:n], ctrlC) >= 0:
		t.end()
		return 0, io.EOF
	case err == io.EOF && len(b) > 0:
		t.last = true
		b[0] = ctrlD
		return 1, nil
	}
	return n, err
}

// Write takes the ends of lines as programs print them, or as a console does.
func (t *terminal) Write(b []byte) (int, error) {
	out := b
	if t.raw {
		out = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	_, err := os.Stdout.Write(out)
	return len(b), err
}

// socket is the console of a guest for another process, one at a time.
type socket struct {
	net.Listener
	mu    sync.Mutex
	conn  net.Conn // nil: nobody looks
	ready chan net.Conn
}

func newSocket(path string) (*socket, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	s := &socket{Listener: l, ready: make(chan net.Conn)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(s.ready)
				return
			}
			s.ready <- c
		}
	}()
	return s, nil
}

func (s *socket) now() net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// Read reads from who looks, or waits for the next one.
func (s *socket) Read(b []byte) (int, error) {
	for {
		if c := s.now(); c != nil {
			if n, err := c.Read(b); err == nil {
				return n, nil
			}
			_ = c.Close()
		}
		c, ok := <-s.ready
		if !ok {
			return 0, io.EOF
		}
		s.mu.Lock()
		s.conn = c
		s.mu.Unlock()
	}
}

func (s *socket) Write(b []byte) (int, error) {
	if c := s.now(); c != nil {
		_, _ = c.Write(b)
	}
	return len(b), nil
}

// attachConsole shows the console behind a socket until it, ctx or the user ends.
func attachConsole(ctx context.Context, path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return usageErrorf("--console %q: no guest's console is there (%w); exanet guests says at its start where one "+
			"is", path, err)
	}
	defer c.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	context.AfterFunc(ctx, func() { _ = c.Close() })
	here, restore, err := newTerminal(end)
	if err != nil {
		return err
	}
	defer restore()
	go func() { _, _ = io.Copy(c, here) }()
	_, _ = c.Write([]byte("\n")) // for a prompt
	if _, err = io.Copy(here, c); ctx.Err() != nil {
		return nil
	}
	return err
}

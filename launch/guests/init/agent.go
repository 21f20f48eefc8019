//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

// agent is the guest's end of the conversation with the host.
type agent struct {
	conn   net.Conn
	owners *freer

	mu       sync.Mutex // of what follows
	out      *json.Encoder
	programs map[int]int    // process groups of running programs, by ID
	done     chan wire.Done // of the job that somebody here has asked for; nil: there is none
}

// dialTime is how long the host may take to answer.
const dialTime = 30 * time.Second

func dial(host string, hello wire.Hello) (*agent, error) {
	o, err := watchOwners(hello.Device)
	if err != nil {
		return nil, err
	}
	c, err := net.DialTimeout("tcp", host, dialTime)
	if err != nil {
		return nil, fmt.Errorf("no way to the host: %w", err)
	}
	a := &agent{conn: c, owners: o, out: json.NewEncoder(c), programs: make(map[int]int)}
	return a, a.say(wire.Message{Hello: &hello})
}

func (a *agent) say(m wire.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Encode(m)
}

// serve does what the host says, until it says no more.
func (a *agent) serve() error {
	if err := a.listen(); err != nil {
		return err
	}
	in := json.NewDecoder(a.conn)
	for {
		var m wire.Message
		if err := in.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the host: %w", err)
		}
		switch {
		case m.Start != nil:
			a.start(*m.Start)
		case m.Signal != nil:
			a.mu.Lock()
			if group := a.programs[m.Signal.ID]; group != 0 {
				_ = unix.Kill(-group, unix.Signal(m.Signal.Signal))
			}
			a.mu.Unlock()
		case m.Done != nil:
			a.mu.Lock()
			if a.done != nil {
				a.done <- *m.Done
			}
			a.mu.Unlock()
		}
	}
}

// start starts a program, and says later how it has ended.
func (a *agent) start(s wire.Start) {
	c := exec.Command(s.Argv[0], s.Argv[1:]...)
	c.Env = append(os.Environ(), s.Env...)
	c.Stdout, c.Stderr = &output{a, s.ID, false}, &output{a, s.ID, true}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		_ = a.say(wire.Message{Exit: &wire.Exit{ID: s.ID, Code: -1, Text: err.Error()}})
		return
	}
	a.mu.Lock()
	a.programs[s.ID] = c.Process.Pid
	a.mu.Unlock()
	go func() {
		exit := wire.Exit{ID: s.ID}
		if err := c.Wait(); err != nil {
			exit.Text, exit.Code = err.Error(), c.ProcessState.ExitCode()
			if w, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
				exit.Code = 128 + int(w.Signal())
			}
		}
		a.mu.Lock()
		delete(a.programs, s.ID)
		a.mu.Unlock()
		_ = unix.Kill(-c.Process.Pid, unix.SIGKILL) // what it has left running
		a.owners.look()
		_ = a.say(wire.Message{Exit: &exit})
	}()
}

// output sends what a program prints.
type output struct {
	a   *agent
	id  int
	err bool
}

func (o *output) Write(b []byte) (int, error) {
	return len(b), o.a.say(wire.Message{Output: &wire.Output{ID: o.id, Err: o.err, Data: b}})
}

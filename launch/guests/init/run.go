//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

// socket is where the agent hears of jobs.
const socket = "/tmp/.exanet"

// runCommand has the host start a program on all nodes, and waits for its end. What it
// prints goes to the host's terminal.
func runCommand(argv []string) int {
	if len(argv) == 0 {
		fmt.Fprintln(os.Stderr, "run PROGRAM [ARGUMENT]...: runs a program on all nodes, one rank each")
		return 2
	}
	c, err := net.Dial("unix", socket)
	if err == nil {
		defer c.Close()
		err = json.NewEncoder(c).Encode(wire.Job{Argv: argv})
	}
	var done wire.Done
	if err == nil {
		err = json.NewDecoder(c).Decode(&done)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		return 1
	}
	return done.Code
}

// listen passes jobs on to the host, one after the other.
func (a *agent) listen() error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			a.pass(c)
			_ = c.Close()
		}
	}()
	return nil
}

func (a *agent) pass(c net.Conn) {
	var job wire.Job
	if json.NewDecoder(c).Decode(&job) != nil {
		return
	}
	done := make(chan wire.Done, 1)
	a.mu.Lock()
	a.done = done
	a.mu.Unlock()
	if a.say(wire.Message{Job: &job}) == nil {
		_ = json.NewEncoder(c).Encode(<-done)
	}
	a.mu.Lock()
	a.done = nil
	a.mu.Unlock()
}

//go:build linux

package guests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	exanet "github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

// Command is a program for a guest.
type Command struct {
	Argv           []string
	Env            []string  // besides PATH, HOME and EXANET_DEVICE
	Stdout, Stderr io.Writer // nil discards
}

// Program is a program that runs in a guest.
type Program struct {
	node *Node
	id   int
	cmd  Command
	done chan struct{}
	exit wire.Exit // valid when done is closed
}

// An ExitError says how a program of a guest has ended, if not well.
type ExitError struct {
	Node int
	Argv []string
	Code int // 128 + N: by signal N; -1: it could not be started, or its guest has ended
	Text string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s on node %d: %s", e.Argv[0], e.Node, e.Text)
}

// Start starts a program.
func (n *Node) Start(c Command) (*Program, error) {
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	n.mu.Lock()
	n.last++
	p := &Program{node: n, id: n.last, cmd: c, done: make(chan struct{})}
	n.programs[p.id] = p
	n.mu.Unlock()
	if err := n.say(wire.Message{Start: &wire.Start{ID: p.id, Argv: c.Argv, Env: c.Env}}); err != nil {
		n.mu.Lock()
		delete(n.programs, p.id)
		n.mu.Unlock()
		return nil, err
	}
	return p, nil
}

// Signal sends a signal to the program and what it has started.
func (p *Program) Signal(s syscall.Signal) error {
	return p.node.say(wire.Message{Signal: &wire.Signal{ID: p.id, Signal: int(s)}})
}

// Wait waits for the end of the program, which is killed when ctx ends.
func (p *Program) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGKILL)
		return fmt.Errorf("%s on node %d: %w", p.cmd.Argv[0], p.node.Number, context.Cause(ctx))
	}
	if p.exit.Code != 0 {
		return &ExitError{p.node.Number, p.cmd.Argv, p.exit.Code, p.exit.Text}
	}
	return nil
}

// ended is called once.
func (p *Program) ended(e wire.Exit) {
	p.exit = e
	close(p.done)
}

func (p *Program) print(o wire.Output) {
	w := p.cmd.Stdout
	if o.Err {
		w = p.cmd.Stderr
	}
	_, _ = w.Write(o.Data)
}

// StartJob starts a job with so many ranks on each node, the first ones on the first. With an error it returns those
// that it has started: they end by themselves, since the others do not come.
func (g *Guests) StartJob(perNode int, c Command) (ranks []*Program, err error) {
	size := perNode * len(g.Nodes)
	place, err := exanet.NewPlace(exanet.NewSecret(), size, func(int64) {})
	if err != nil {
		return nil, err
	}
	secret, addrs, _ := strings.Cut(place.Meet(), "@")
	port := addrs[strings.LastIndexByte(addrs, ':')+1:]
	meet := fmt.Sprintf("%s@%s:%s", secret, wire.Gateway, port)
	for rank := range size {
		mine := c
		mine.Env = append([]string{
			fmt.Sprint(env.Rank, "=", rank), fmt.Sprint(env.Size, "=", size), env.Meet + "=" + meet}, c.Env...)
		p, err := g.Nodes[rank/perNode].Start(mine)
		if err != nil {
			place.Close()
			return ranks, err
		}
		ranks = append(ranks, p)
	}
	for _, p := range ranks {
		go func() {
			<-p.done
			place.Close() // who still waits there would wait for ever
		}()
	}
	return ranks, nil
}

// Run runs a job and returns how its ranks have ended, joined.
func (g *Guests) Run(ctx context.Context, perNode int, c Command) error {
	ranks, err := g.StartJob(perNode, c)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range ranks {
		errs = append(errs, p.Wait(ctx))
	}
	return errors.Join(errs...)
}

// asked runs the job that somebody in a guest has asked for, which may have booted before the others.
func (n *Node) asked(j wire.Job) {
	select {
	case <-n.guests.booted:
	case <-n.gone:
		return
	}
	out := n.guests.jobs
	done := wire.Done{}
	if err := n.guests.Run(context.Background(), 1, Command{Argv: j.Argv, Stdout: out, Stderr: out}); err != nil {
		fmt.Fprintln(out, err)
		done.Code = 1
	}
	_ = n.say(wire.Message{Done: &done})
}

// Package compare runs a command in two ways, in turn, and puts what they took and
// printed side by side.
//
//	run.go       the runs
//	launched.go  programs under the launcher of their MPI, and with our library
//	figures.go   the figures in a program's output, as the OSU benchmarks print them
//	differ.go    whether both ways have had the same outcome
//	report.go    medians and ratios
package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Way is one of the two: the command with and without something.
type Way struct {
	Name  string
	Path  string // of the executable
	Words []string
	Env   []string
	Dir   string        // where it runs; "": here
	Limit time.Duration // it is ended after so long; 0: never
}

// Outcome is that of a run.
type Outcome struct {
	Seconds float64 // from start to end
	Output  string  // what it has printed
	Said    string  // and on the standard error, which may come between two lines of that
	Code    int     // exit code; 128 + N after signal N
	Late    bool    // it was ended because of the limit
}

// All is everything that it has printed.
func (o *Outcome) All() string { return o.Output + o.Said }

// grace is how long a command may take to end after SIGTERM.
const grace = 5 * time.Second

// FailedError means that the command fails by itself, so there is nothing to compare.
type FailedError struct{ Outcome }

func (e *FailedError) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Said+e.Output), "\n")
	if first == "" {
		first = "nothing"
	}
	return fmt.Sprintf("the command itself exits with code %d, so there is nothing to compare; it says: %s", e.Code,
		first)
}

// ExitCode is that of the command.
func (e *FailedError) ExitCode() int { return e.Code }

// Run runs both ways that many times, there and back, so that both see the same
// machine, and calls ran after each run. Outcomes of way i and round k are at [i][k].
// If the very first run of the first way fails, the error is a *FailedError.
func Run(ctx context.Context, ways [2]Way, rounds int, ran func()) (outcomes [2][]Outcome, err error) {
	for round := range rounds {
		for n := range ways {
			i := (n + round) % 2
			o, err := Once(ctx, ways[i])
			if err != nil {
				return outcomes, err
			}
			if round == 0 && i == 0 && o.Code != 0 {
				return outcomes, &FailedError{o}
			}
			outcomes[i] = append(outcomes[i], o)
			ran()
		}
	}
	return outcomes, nil
}

// Once runs a command once, with an empty input, in a process group of its own, of
// which nothing is left when it has ended.
func Once(ctx context.Context, w Way) (Outcome, error) {
	var out, said bytes.Buffer
	limited := ctx
	if w.Limit > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, w.Limit)
		defer stop()
	}
	cmd := exec.CommandContext(limited, w.Path, w.Words[1:]...)
	cmd.Args[0], cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.Words[0], w.Env, w.Dir, &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	begun := time.Now()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly there is nobody left
	}
	o := Outcome{Seconds: time.Since(begun).Seconds(), Output: out.String(), Said: said.String(),
		Late: ctx.Err() == nil && limited.Err() != nil}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return o, context.Cause(ctx)
	case o.Late && !errors.As(err, &exit):
		o.Code = 128 + int(syscall.SIGKILL)
	case errors.As(err, &exit):
		o.Code = exit.ExitCode()
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			o.Code = 128 + int(s.Signal())
		}
	case err != nil:
		return o, fmt.Errorf("cannot run %s: %w", w.Path, err)
	}
	return o, nil
}

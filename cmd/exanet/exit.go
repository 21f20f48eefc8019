package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/exanet-mpi/exanet/launch"
)

// Exit codes of the commands themselves. A job's are those of its ranks.
const (
	exitFailure = 1
	exitUsage   = 2
)

// An exitCoder is an error that knows the exit code of the command line.
type exitCoder interface {
	error
	ExitCode() int
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func (usageError) ExitCode() int { return exitUsage }

func (e usageError) Unwrap() error { return e.error }

// usageErrorf makes a usageError; the text says what is wrong and what is wanted.
func usageErrorf(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitCode is what a command that returned err exits with.
func exitCode(err error) int {
	var coder exitCoder
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coder):
		return coder.ExitCode()
	}
	return exitFailure
}

// explain prints err as one line, unless the job has done so already.
func explain(w io.Writer, err error) {
	var rank *launch.RankError
	var host *launch.HostError
	var timeout *launch.TimeoutError
	var command commandExit
	if err == nil || errors.As(err, &rank) || errors.As(err, &host) || errors.As(err, &timeout) ||
		errors.As(err, &command) {
		return
	}
	fmt.Fprintln(w, "exanet: "+strings.Join(strings.Fields(err.Error()), " "))
}

// interrupted is a signal that has ended a command before its end.
type interrupted syscall.Signal

func (interrupted) Error() string { return "interrupted" }

func (i interrupted) ExitCode() int { return 128 + int(i) }

// interruptible returns a context that ends with the first signal that ends a program,
// for an error that says so.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			stop(interrupted(s.(syscall.Signal)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		stop(nil)
	}
}

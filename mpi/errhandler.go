package mpi

import (
	"fmt"
	"os"
)

// Errhandler is what a program wants to happen when a call fails
// (MPI_Errhandler). Calls of this package return their errors and do nothing
// else; a program, or the layer between this package and a program in another
// language, passes them to CallErrhandler.
type Errhandler struct {
	call func(c *Comm, err error) error
}

// The predefined handlers.
var (
	// ErrorsReturn returns the error; communicators have it first
	// (MPI_ERRORS_RETURN).
	ErrorsReturn = &Errhandler{returned}
	// ErrorsAreFatal prints the error and ends the job (MPI_ERRORS_ARE_FATAL).
	ErrorsAreFatal = &Errhandler{fatal}
)

func returned(_ *Comm, err error) error { return err }

func fatal(c *Comm, err error) error {
	fmt.Fprintln(os.Stderr, "exanet:", err)
	c.Abort(1)
	return err
}

// NewErrhandler makes a handler of a function, which may deal with the error and
// return nil, or return an error, that one or another
// (MPI_Comm_create_errhandler).
func NewErrhandler(f func(c *Comm, err error) error) *Errhandler { return &Errhandler{call: f} }

// SetErrhandler sets the handler of the communicator, which those that are made
// of it inherit (MPI_Comm_set_errhandler).
func (c *Comm) SetErrhandler(h *Errhandler) error {
	if err := c.usable("SetErrhandler"); err != nil {
		return err
	}
	if h == nil || h.call == nil {
		return c.fail("SetErrhandler", noValue, noValue, noValue, fmt.Errorf("%w: no error handler", ErrArg),
			"use ErrorsReturn, ErrorsAreFatal, or what NewErrhandler has made")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handler = h
	return nil
}

// Errhandler returns the handler of the communicator (MPI_Comm_get_errhandler).
func (c *Comm) Errhandler() *Errhandler {
	if c == nil {
		return ErrorsReturn
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handler == nil {
		return ErrorsReturn
	}
	return c.handler
}

// CallErrhandler passes an error to the handler of the communicator and returns
// what that makes of it (MPI_Comm_call_errhandler). It does nothing if err is
// nil.
func (c *Comm) CallErrhandler(err error) error {
	if err == nil {
		return nil
	}
	return c.Errhandler().call(c, err)
}

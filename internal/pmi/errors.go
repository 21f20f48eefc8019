package pmi

import (
	"errors"
	"fmt"
)

// Error is that of a request to a launcher. Its cause is ErrGone, a *Refusal, the context's, or an answer that this
// package does not understand.
type Error struct {
	Rank    int    // that asked, -1 if it does not know it yet
	Request string // in the launcher's words
	Err     error
}

func (e *Error) Error() string {
	if e.Rank < 0 {
		return fmt.Sprintf("the launcher is asked for %s: %v", e.Request, e.Err)
	}
	return fmt.Sprintf("rank %d asks its launcher for %s: %v", e.Rank, e.Request, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrGone says that the launcher has ended, or does not know this process any more.
var ErrGone = errors.New("the launcher has closed the connection: see how it, or another rank, has ended")

// Refusal is a launcher's answer that is no success.
type Refusal struct {
	Code    int
	Message string // the launcher's, may be empty
}

func (r *Refusal) Error() string {
	if r.Message == "" {
		return fmt.Sprintf("the launcher refuses with code %d", r.Code)
	}
	return fmt.Sprintf("the launcher refuses with code %d: %s", r.Code, r.Message)
}

// Unanswered is the cause where a context has ended first.
func Unanswered(err error) error {
	return fmt.Errorf("no answer (%w): see whether all ranks have been started and use mpi", err)
}

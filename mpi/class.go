package mpi

import (
	"errors"
	"fmt"
	"sync"
)

// Error classes and codes, for programs that want numbers: those of MPI, and
// those that a program adds. Go programs compare errors with errors.Is.

// ErrorCode is an error code of MPI. The predefined ones are the error classes;
// a program adds its own with AddErrorClass and AddErrorCode. The numbers are
// this library's.
type ErrorCode int

// The error classes (MPI 4.0, table 9.1, and ULFM's).
const (
	Success ErrorCode = iota
	ClassBuffer
	ClassCount
	ClassType
	ClassTag
	ClassComm
	ClassRank
	ClassRequest
	ClassRoot
	ClassGroup
	ClassOp
	ClassTopology
	ClassDims
	ClassArg
	ClassUnknown
	ClassTruncate
	ClassOther
	ClassIntern
	ClassInStatus
	ClassPending
	ClassKeyval
	ClassNoMem
	ClassUnsupportedOperation
	ClassProcAborted
	ClassProcFailed
	predefinedCodes
)

// classes gives each predefined class its name in MPI, its text, and the
// sentinels of this package that belong to it.
var classes = [predefinedCodes]struct {
	name, text string
	errs       []error
}{
	Success:                   {"MPI_SUCCESS", "no error", nil},
	ClassBuffer:               {"MPI_ERR_BUFFER", "invalid buffer, or none that is large enough", []error{ErrBuffer}},
	ClassCount:                {"MPI_ERR_COUNT", "invalid number of elements", []error{ErrCount}},
	ClassType:                 {"MPI_ERR_TYPE", "invalid datatype", []error{ErrType}},
	ClassTag:                  {"MPI_ERR_TAG", "invalid tag", []error{ErrTag}},
	ClassComm:                 {"MPI_ERR_COMM", "invalid communicator", []error{ErrComm}},
	ClassRank:                 {"MPI_ERR_RANK", "no such rank", []error{ErrRank}},
	ClassRequest:              {"MPI_ERR_REQUEST", "invalid request", []error{ErrRequest}},
	ClassRoot:                 {"MPI_ERR_ROOT", "no such root", []error{ErrRoot}},
	ClassGroup:                {"MPI_ERR_GROUP", "invalid group", []error{ErrGroup}},
	ClassOp:                   {"MPI_ERR_OP", "invalid reduction operation", []error{ErrOp}},
	ClassTopology:             {"MPI_ERR_TOPOLOGY", "no such topology", []error{ErrTopology}},
	ClassDims:                 {"MPI_ERR_DIMS", "invalid dimensions", []error{ErrDims}},
	ClassArg:                  {"MPI_ERR_ARG", "invalid argument", []error{ErrArg}},
	ClassUnknown:              {"MPI_ERR_UNKNOWN", "an error of another library", nil},
	ClassTruncate:             {"MPI_ERR_TRUNCATE", "message longer than the receive buffer", []error{ErrTruncate}},
	ClassOther:                {"MPI_ERR_OTHER", "another error", []error{ErrInit, ErrTooMany, ErrAssumption}},
	ClassIntern:               {"MPI_ERR_INTERN", "a fault of this library or its device", nil},
	ClassInStatus:             {"MPI_ERR_IN_STATUS", "see the outcome of each request", nil},
	ClassPending:              {"MPI_ERR_PENDING", "the request has not completed", nil},
	ClassKeyval:               {"MPI_ERR_KEYVAL", "invalid attribute key", []error{ErrKeyval}},
	ClassNoMem:                {"MPI_ERR_NO_MEM", "out of memory", []error{ErrNoMem}},
	ClassUnsupportedOperation: {"MPI_ERR_UNSUPPORTED_OPERATION", "not supported", nil},
	ClassProcAborted:          {"MPI_ERR_PROC_ABORTED", "a process has called Abort", nil},
	ClassProcFailed:           {"MPIX_ERR_PROC_FAILED", "a process has failed", []error{ErrProcFailed}},
}

// ErrorClass returns the class of an error of this package: Success for nil, that
// of the code for a *CodeError, and ClassUnknown for an error that is not
// this package's (MPI_Error_class).
func ErrorClass(err error) ErrorCode {
	if err == nil {
		return Success
	}
	var own *CodeError
	if errors.As(err, &own) {
		return own.Class
	}
	var aborted *AbortError
	if errors.As(err, &aborted) {
		return ClassProcAborted
	}
	if errors.Is(err, ErrProcFailed) { // whatever has come of it, as a message of the wrong size
		return ClassProcFailed
	}
	for class, d := range classes {
		for _, e := range d.errs {
			if errors.Is(err, e) {
				return ErrorCode(class)
			}
		}
	}
	var e *Error
	if errors.As(err, &e) {
		return ClassOther
	}
	return ClassUnknown
}

// String is the name that MPI has for a predefined class, "MPI_ERR_TRUNCATE"
// for instance.
func (e ErrorCode) String() string {
	if e >= 0 && e < predefinedCodes {
		return classes[e].name
	}
	return fmt.Sprintf("error code %d", int(e))
}

// CodeError is an error with a code that the program has added, see NewError.
type CodeError struct {
	Code, Class ErrorCode
	Text        string
}

func (e *CodeError) Error() string { return "mpi: " + e.Text }

// ownCodes are those that a program has added, beyond the predefined ones.
type ownCodes struct {
	sync.Mutex
	codes []CodeError
}

func (o *ownCodes) add(class ErrorCode) ErrorCode {
	o.Lock()
	defer o.Unlock()
	code := predefinedCodes + ErrorCode(len(o.codes))
	if class < 0 {
		class = code
	}
	o.codes = append(o.codes, CodeError{Code: code, Class: class, Text: code.String()})
	return code
}

// get returns a code that was added, nil if there is none.
func (o *ownCodes) get(code ErrorCode) *CodeError {
	o.Lock()
	defer o.Unlock()
	if i := int(code - predefinedCodes); i >= 0 && i < len(o.codes) {
		e := o.codes[i]
		return &e
	}
	return nil
}

// AddErrorClass makes a class of the program's own, for the caller's rank in all
// its communicators (MPI_Add_error_class).
func (c *Comm) AddErrorClass() (ErrorCode, error) {
	if err := c.usable("AddErrorClass"); err != nil {
		return 0, err
	}
	return c.rank.codes.add(-1), nil
}

// AddErrorCode makes a code in a class, predefined or added
// (MPI_Add_error_code).
func (c *Comm) AddErrorCode(class ErrorCode) (ErrorCode, error) {
	if err := c.usable("AddErrorCode"); err != nil {
		return 0, err
	}
	if own := c.rank.codes.get(class); (own == nil || own.Class != class) && (class < 0 || class >= predefinedCodes) {
		return 0, c.noClass("AddErrorCode", class)
	}
	return c.rank.codes.add(class), nil
}

// AddErrorString sets the text of a class or code that the program has added
// (MPI_Add_error_string).
func (c *Comm) AddErrorString(code ErrorCode, text string) error {
	if err := c.usable("AddErrorString"); err != nil {
		return err
	}
	if c.rank.codes.get(code) == nil {
		return c.noClass("AddErrorString", code)
	}
	o := &c.rank.codes
	o.Lock()
	defer o.Unlock()
	o.codes[code-predefinedCodes].Text = text
	return nil
}

// ErrorString returns the text of a class or code (MPI_Error_string). That of an
// error value is longer: it says where and why.
func (c *Comm) ErrorString(code ErrorCode) (string, error) {
	if code >= 0 && code < predefinedCodes {
		return classes[code].text, nil
	}
	if err := c.usable("ErrorString"); err != nil {
		return "", err
	}
	if own := c.rank.codes.get(code); own != nil {
		return own.Text, nil
	}
	return "", c.noClass("ErrorString", code)
}

// NewError makes an error of a class or code: one that the program has added, or
// a predefined one. Its class is what ErrorClass tells.
func (c *Comm) NewError(code ErrorCode) error {
	text, err := c.ErrorString(code)
	switch {
	case err != nil || code == Success:
		return err
	case code < predefinedCodes:
		return &CodeError{Code: code, Class: code, Text: text}
	}
	return c.rank.codes.get(code)
}

func (c *Comm) noClass(op string, code ErrorCode) error {
	return c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: there is no %v to do that with", ErrArg, code),
		"use what AddErrorClass or AddErrorCode has returned")
}

// Package sys holds the system calls that golang.org/x/sys/unix does not offer in the form needed, without allocation
// and on words in shared memory, and those that only Linux has. It has two forms:
//
//	*_linux.go    Linux
//	portable.go   everywhere else, and on Linux with the tag portable, by which tests try it
//
// The portable form serves ranks that are goroutines of one process. What processes need fails with ErrNeedsLinux.
package sys

import (
	"errors"
	"syscall"

	_ "github.com/exanet-mpi/exanet/internal/platform"
)

// ErrNeedsLinux is the error of what the portable form has not.
var ErrNeedsLinux = errors.New("jobs of several processes, and preloaded programs, need Linux: mpi.Run and " +
	"exanet sim, chart, explore and reproduce work here as well")

// Iovec is a piece of memory of some process.
type Iovec struct {
	Addr uint64
	Len  uint64
}

// End is how a child process ended: by a signal, or by itself with an exit
// code.
type End struct {
	Signal syscall.Signal // 0: it exited by itself
	Code   int
	Core   bool // the signal left a core dump
}

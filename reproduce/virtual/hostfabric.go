//go:build hostfabric

// Package virtual runs the ranks of package mpi in virtual time. A build with the tag
// hostfabric has no simulated fabric: its Main serves jobs on a host alone.
package virtual

import (
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/mpi"
)

// Simulated reports whether Main runs its function in virtual time.
func Simulated() bool { return false }

// Main runs main between mpi.Init and mpi.Finalize. If it fails, Main prints the error
// and ends the process with exit code 1.
func Main(main func(world *mpi.Comm) error, opts ...mpi.Option) {
	world, err := mpi.Init(opts...)
	if err == nil {
		if err = main(world); err == nil {
			err = mpi.Finalize()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

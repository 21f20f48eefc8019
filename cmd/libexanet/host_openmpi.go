//go:build openmpi

package main

// #include "host.h"
import "C"

import "github.com/exanet-mpi/exanet/mpi"

// Messages that leave at once need no buffer in Open MPI.
const bufferRule = mpi.BufferHolds

// refusesAliases is whether collectives look for the same memory given for both buffers.
const refusesAliases = false

// setSize fills in what a status hides.
func setSize(s *C.MPI_Status, bytes int, cancelled C.int) {
	s._ucount = C.size_t(bytes)
	s._cancelled = cancelled
}

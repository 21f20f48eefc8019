//go:build abi

package main

// #include "host.h"
import "C"

import "github.com/exanet-mpi/exanet/mpi"

// In what the standard leaves open ours does as the MPI that is behind the ABI, which its statuses tell.
var (
	countAt = C.exanet_find_count()
	// refusesAliases is whether collectives look for the same memory given for both buffers.
	refusesAliases = countAt == C.EXANET_COUNT_OF_MPICH
	bufferRule     = map[bool]mpi.BufferRule{true: mpi.BufferNeeded, false: mpi.BufferHolds}[refusesAliases]
)

// setSize fills in what a status hides.
func setSize(s *C.MPI_Status, bytes int, cancelled C.int) {
	C.exanet_set_size(s, countAt, C.int64_t(bytes), cancelled)
}

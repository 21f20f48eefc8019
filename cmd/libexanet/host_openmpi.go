//go:build openmpi

package main

// #include "host.h"
import "C"

import "github.com/exanet-mpi/exanet/mpi"

// handle is one of Open MPI's: the address of an object, which is even. Ours are
// odd numbers.
type handle uintptr

// Messages that leave at once need no buffer in Open MPI.
const bufferRule = mpi.BufferHolds

// failedClass is the class of errors that a rank's death makes, for which Open MPI 4 has none.
const failedClass = C.MPI_ERR_OTHER

func requestHandle(n int32) handle { return handle(n)<<C.EXANET_SHIFT | C.EXANET_REQUEST }
func messageHandle(n int32) handle { return handle(n)<<C.EXANET_SHIFT | C.EXANET_MESSAGE }

// refusesAliases is whether collectives look for the same memory given for both buffers.
const refusesAliases = false

// setSize fills in what a status hides.
func setSize(s *C.MPI_Status, bytes int, cancelled C.int) {
	s._ucount = C.size_t(bytes)
	s._cancelled = cancelled
}

// requestNumber returns the number of a handle that can only be a request of ours,
// else 0.
func requestNumber(h handle) int32 { return numberOf(h, C.EXANET_REQUEST) }

// messageNumber is the same for messages.
func messageNumber(h handle) int32 { return numberOf(h, C.EXANET_MESSAGE) }

func numberOf(h, kind handle) int32 {
	if n := h >> C.EXANET_SHIFT; h&(1<<C.EXANET_SHIFT-1) == kind && n < C.EXANET_NUMBERS {
		return int32(n)
	}
	return 0
}

//go:build mpich

package main

// #include "host.h"
import "C"

import "github.com/exanet-mpi/exanet/mpi"

// handle is one of MPICH's. The two highest bits tell how the object is stored, and
// are not 0 but for the null handles, whose other bits tell the kind of object.
// Ours have nothing there but, in messages, a kind that MPICH does not have.
type handle int32

const messageKind = C.EXANET_MESSAGE

const bufferRule = mpi.BufferNeeded

func requestHandle(n int32) handle { return handle(n) }
func messageHandle(n int32) handle { return handle(n | messageKind) }

// refusesAliases is whether collectives look for the same memory given for both buffers.
const refusesAliases = true

// setSize fills in what a status hides.
func setSize(s *C.MPI_Status, bytes int, cancelled C.int) {
	s.count_lo = C.int(bytes)
	s.count_hi_and_cancelled = C.int(bytes>>32)<<1 | cancelled
}

// requestNumber returns the number of a handle that can only be a request of ours,
// else 0.
func requestNumber(h handle) int32 {
	if h > 0 && h < C.EXANET_NUMBERS {
		return int32(h)
	}
	return 0
}

// messageNumber is the same for messages.
func messageNumber(h handle) int32 { return requestNumber(h ^ messageKind) }

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import "unsafe"

// A handle is one of the host's as a number of the same width: MPICH's are ints,
// Open MPI's and the standard ABI's pointers. So a number of ours may stand where a request of the host's
// would, and is never held in a variable that the collector takes for a pointer.

// as is a handle in the host's type T for it.
func as[T any](h handle) T { return *(*T)(unsafe.Pointer(&h)) }

// handleOf is the handle that a variable of the host's type holds.
func handleOf[T any](v T) handle { return *(*handle)(unsafe.Pointer(&v)) }

// handleAt is the place of a handle in the memory of the program.
func handleAt(p unsafe.Pointer) *handle { return (*handle)(p) }

var (
	worldHandle = handleOf(C.exanet_world)
	selfHandle  = handleOf(C.exanet_self)
	noComm      = handleOf(C.exanet_no_comm)
	noRequest   = handleOf(C.exanet_no_request)
	noMessage   = handleOf(C.exanet_no_message)
	noType      = handleOf(C.exanet_no_type)
)

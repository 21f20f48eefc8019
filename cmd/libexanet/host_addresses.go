//go:build openmpi || abi

package main

// #include "host.h"
import "C"

// handle is one of Open MPI's or of the standard ABI's: the address of an object, which is even, or a small
// constant. Ours are odd numbers: their lowest bits are those of no request or message of these.
type handle uintptr

func requestHandle(n int32) handle { return handle(n)<<C.EXANET_SHIFT | C.EXANET_REQUEST }
func messageHandle(n int32) handle { return handle(n)<<C.EXANET_SHIFT | C.EXANET_MESSAGE }

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

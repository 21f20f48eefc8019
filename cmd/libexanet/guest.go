//go:build mpich || openmpi

package main

import "C"

// exanet_hello is the first call of each thread: what the runtime does to a thread
// that it meets is undone then, see entry/signals.c.
//
//export exanet_hello
func exanet_hello() {}

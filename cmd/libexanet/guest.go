//go:build mpich || openmpi || abi

package main

// #include <stdint.h>
import "C"

// exanet_hello is the first call of each thread: what the runtime does to a thread
// that it meets is undone then, see c/threads.c.
//
//export exanet_hello
func exanet_hello() {}

// passed are the calls passed through to the host, by name.
var passed = map[string]uint64{}

// exanet_counted is called for each of them at the end, if EXANET_STATS is set.
//
//export exanet_counted
func exanet_counted(name *C.char, n C.uint64_t) { passed[C.GoString(name)] = uint64(n) }

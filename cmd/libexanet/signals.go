//go:build mpich || openmpi || abi

package main

import (
	"syscall"
	_ "unsafe" // for the name of another package's variable
)

// Go unblocks these signals in each thread that it begins, and in each that calls it for the first time. One that the
// program has blocked would be taken in that moment, and end the process: c/threads.c can have others blocked again,
// but not keep a fresh one from coming in between. So Go is told not to; it needs none of them. The threads that it has
// begun before are looked after by c/signals.c.
var theirs = []int{int(syscall.SIGILL), int(syscall.SIGTRAP), int(syscall.SIGCHLD), int(syscall.SIGPROF), 34}

//go:linkname sigtable runtime.sigtable
var sigtable [65]struct {
	flags int32
	name  string
}

const unblocked = 1 << 7 // runtime._SigUnblock

func init() {
	if sigtable[syscall.SIGPROF].name != "SIGPROF: profiling alarm clock" {
		return // another Go than we know
	}
	for _, s := range theirs {
		sigtable[s].flags &^= unblocked
	}
}

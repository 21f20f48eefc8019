//go:build linux && !portable

package sys

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FutexPark is FutexWait for a goroutine that may sleep for long, as the background of a rank. It gives its P up at
// once. FutexWait keeps it until the runtime's monitor takes it. When the monitor has taken one it looks again and
// again for some milliseconds, and each look interrupts who computes on that core. To wake up takes longer after
// FutexPark, so calls that wait have FutexWait.
//
// Between the two functions of the runtime the goroutine has no P: there is nothing but the system call. The runtime
// keeps them for others that call them by name (go.dev/issue/67401).
//
//go:nosplit
func FutexPark(w *atomic.Uint32, val uint32) {
	enterSyscallBlock()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, uintptr(val), 0, 0, 0)
	exitSyscall()
}

//go:linkname enterSyscallBlock runtime.entersyscallblock
func enterSyscallBlock()

//go:linkname exitSyscall runtime.exitsyscall
func exitSyscall()

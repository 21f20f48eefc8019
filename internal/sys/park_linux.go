//go:build !portable

package sys

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FutexPark is FutexWait for a goroutine that may sleep for long, as the background of a rank: it gives its P up at
// once. To wake up takes longer after it, so calls that wait have FutexWait.
//
//go:nosplit
func FutexPark(w *atomic.Uint32, val uint32) {
	enterSyscallBlock()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, uintptr(val), 0, 0, 0)
	exitSyscall()
}

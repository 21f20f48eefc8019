package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls that sleep for long and give their P up at once. Another system call keeps it until the runtime's monitor takes
// it. When the monitor has taken one it looks again and again for some milliseconds, and each look interrupts who
// computes, or waits for a message, on that core.
//
// Between the two functions of the runtime the goroutine has no P: there is nothing but the system call. The runtime
// keeps them for others that call them by name (go.dev/issue/67401).

//go:linkname enterSyscallBlock runtime.entersyscallblock
func enterSyscallBlock()

//go:linkname exitSyscall runtime.exitsyscall
func exitSyscall()

// ReadyPark waits until an epoll descriptor has something ready, so many milliseconds at most, and returns how much.
//
//go:nosplit
func ReadyPark(epoll int, events []unix.EpollEvent, ms int) (n int, e syscall.Errno) {
	enterSyscallBlock()
	r, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(ms), 0, 0)
	exitSyscall()
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

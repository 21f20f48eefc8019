package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls about sockets that do not wait, so they are raw: the scheduler need not know of them. A collection waits for
// raw calls. So a call that moves much is not one.

const rawMost = 256 << 10 // bytes that a raw call moves

// SendNow gives a socket what it takes of a and then b.
func SendNow(fd int, a, b []byte) (n int, e syscall.Errno) {
	const flags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	var r uintptr
	if len(b) == 0 && len(a) <= rawMost {
		r, _, e = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(a))),
			uintptr(len(a)), flags, 0, 0)
		return count(r, e)
	}
	parts := [2]unix.Iovec{{Base: unsafe.SliceData(a)}, {Base: unsafe.SliceData(b)}} // either may be on a stack
	parts[0].SetLen(len(a))
	parts[1].SetLen(len(b))
	m := unix.Msghdr{Iov: &parts[0]}
	m.SetIovlen(len(parts))
	if len(a)+len(b) <= rawMost {
		r, _, e = syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), flags)
	} else {
		r, _, e = syscall.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), flags)
	}
	return count(r, e)
}

// count is what a call returns that has passed on so many bytes.
func count(n uintptr, e syscall.Errno) (int, syscall.Errno) {
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

// ReceiveNow reads what a socket has; 0 bytes are its end.
func ReceiveNow(fd int, b []byte) (n int, e syscall.Errno) {
	var r uintptr
	if len(b) <= rawMost {
		r, _, e = syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	} else {
		r, _, e = syscall.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	}
	return count(r, e)
}

// ReadyNow asks an epoll descriptor what is ready.
func ReadyNow(epoll int, events []unix.EpollEvent) (n int) {
	r, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if e != 0 {
		return 0
	}
	return int(r)
}

//go:build !portable

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfo is siginfo_t as waitid fills it on 64-bit machines.
type siginfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

// The values of siginfo_t.si_code for a child that has ended.
const (
	cldExited = 1
	cldDumped = 3
)

// Ended reports whether a child has ended, and how. It does not reap: until
// someone calls wait4 the PID stays a zombie's and names nobody else.
func Ended(pid int) (e End, ended bool, err error) {
	var si siginfo
	for {
		_, _, errno := syscall.Syscall6(unix.SYS_WAITID, unix.P_PID, uintptr(pid),
			uintptr(unsafe.Pointer(&si)), unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, 0, 0)
		if errno == 0 {
			break
		}
		if errno != unix.EINTR {
			return End{}, false, errno
		}
	}
	switch {
	case si.pid == 0:
		return End{}, false, nil
	case si.code == cldExited:
		return End{Code: int(si.status)}, true, nil
	default:
		return End{Signal: syscall.Signal(si.status), Core: si.code == cldDumped}, true, nil
	}
}

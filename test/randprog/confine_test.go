package randprog

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// The system calls of cross-memory attach and the name of the architecture in
// a seccomp filter.
var refused = map[string]struct {
	arch, readv, writev uint32
}{
	"amd64": {unix.AUDIT_ARCH_X86_64, 310, 311},
	"arm64": {unix.AUDIT_ARCH_AARCH64, 270, 271},
}[runtime.GOARCH]

// Offsets into struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
)

// filter makes the two calls fail with EPERM and allows all others. It is a
// variable of the package so that it stays where it is.
var filter = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataArch},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: refused.arch},
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: dataNumber},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: refused.readv},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: refused.writev},
	{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
}

var filterProgram = []unix.SockFprog{{Len: uint16(len(filter)), Filter: &filter[0]}}

// confine becomes the launcher in a process that, like all that it starts, is
// refused cross-memory attach. It returns only if that fails. The filter holds
// for one thread, which is the one that survives exec.
func confine() error {
	if refused.arch == 0 {
		return fmt.Errorf("the numbers of the system calls on %s are not known here", runtime.GOARCH)
	}
	buf := make([]byte, 16)
	if _, err := sys.VMRead(os.Getpid(), mem.Addr(buf), make([]byte, 8)); err != nil {
		return fmt.Errorf("cross-memory attach fails before it is refused: %w", err)
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	at := uintptr(mem.Addr(mem.Bytes(filterProgram)))
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, at, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_SECCOMP: %w", err)
	}
	_, readErr := sys.VMRead(os.Getpid(), mem.Addr(buf), make([]byte, 8))
	_, writeErr := sys.VMWrite(os.Getpid(), mem.Addr(buf), make([]byte, 8))
	runtime.KeepAlive(buf)
	if !errors.Is(readErr, unix.EPERM) || !errors.Is(writeErr, unix.EPERM) {
		return fmt.Errorf("cross-memory attach is not refused: %v, %v", readErr, writeErr)
	}
	if err := os.Setenv(roleVar, launcher); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// Package sys holds the system calls that the fabrics use and that
// golang.org/x/sys/unix does not offer in the form needed: without
// allocation, on words in shared memory.
package sys

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0 // FUTEX_WAIT, shared between processes
	futexWake = 1 // FUTEX_WAKE, shared between processes
)

// FutexWait sleeps while *w == val, until FutexWake. It may return early, as
// after a signal: callers look again at what they wait for.
func FutexWait(w *atomic.Uint32, val uint32) {
	// Syscall, not RawSyscall: the sleeper must give up its P, or a
	// collection would wait for it.
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, uintptr(val), 0, 0, 0)
}

// Core returns a number of the core that the caller runs on, from 1; 0 if the kernel
// does not tell.
func Core() uint32 {
	var core uint32
	if _, _, e := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&core)), 0, 0); e != 0 {
		return 0
	}
	return core + 1
}

// Thread is the number of the caller's thread, as the kernel counts them.
func Thread() int { return unix.Gettid() }

// MoveTo moves the caller to a core, as Core numbers them, of those that it may run on;
// it may go elsewhere later.
func MoveTo(core uint32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	one.Set(int(core) - 1)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return unix.SchedSetaffinity(0, &all)
}

// RunsOn tells on which core a thread runs, or would if it could, as Core numbers them,
// and whether it is ready to. 0: there is no such thread, or this process may not know.
func RunsOn(thread int) (core uint32, ready bool) {
	text, err := Text("/proc/" + strconv.Itoa(thread) + "/stat")
	if err != nil {
		return 0, false
	}
	return runsOn(text)
}

func runsOn(stat string) (core uint32, ready bool) {
	const state, processor = 0, 36 // behind the name: proc(5) has them as fields 3 and 39
	// The name of the program, in parentheses, may have anything in it.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= processor {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[processor], 10, 31)
	if err != nil {
		return 0, false
	}
	return uint32(n) + 1, fields[state] == "R"
}

// FutexWake wakes at most n sleepers on w.
func FutexWake(w *atomic.Uint32, n int) {
	_, _, _ = syscall.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWake, uintptr(n))
}

// Yield lets another runnable thread have this core.
func Yield() {
	_, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

// Nap sleeps as short as the kernel lets it, some fifty microseconds, which Go's own sleep
// makes a millisecond.
func Nap() {
	t := syscall.Timespec{Nsec: 1}
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

const (
	membarrierGlobalExpedited          = 1 << 1
	membarrierRegisterGlobalExpedited  = 1 << 2
	membarrierPrivateExpedited         = 1 << 3
	membarrierRegisterPrivateExpedited = 1 << 4
)

// RegisterBarrier makes this process a target of Barrier calls of others and
// reports whether the kernel lets us.
func RegisterBarrier() bool {
	_, _, e := syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierRegisterGlobalExpedited, 0, 0)
	return e == 0
}

// Barrier makes every running thread of every registered process execute a
// full memory barrier before it returns.
func Barrier() {
	_, _, _ = syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierGlobalExpedited, 0, 0)
}

// RegisterOwnBarrier makes OwnBarrier possible in this process, and reports whether the kernel lets us.
func RegisterOwnBarrier() bool {
	_, _, e := syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierRegisterPrivateExpedited, 0, 0)
	return e == 0
}

// OwnBarrier makes every running thread of this process execute a full memory barrier before it returns.
func OwnBarrier() {
	_, _, _ = syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierPrivateExpedited, 0, 0)
}

// SharedMemory returns a new memory file of the given size. It has no name in
// any file system and its pages exist once they are touched.
func SharedMemory(label string, size int) (*os.File, error) {
	// A file that is longer than it may be would end the process by SIGXFSZ.
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &most); err == nil && uint64(size) > most.Cur {
		return nil, fmt.Errorf("size %d bytes of shared memory: files may have %d at most (ulimit -f): %w", size,
			most.Cur, unix.EFBIG)
	}
	fd, err := unix.MemfdCreate(label, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), label)
	if err := f.Truncate(int64(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("size %d bytes of shared memory: %w", size, err)
	}
	return f, nil
}

// Map maps the whole of a memory file for reading and writing.
func Map(f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of shared memory: %w", st.Size(), err)
	}
	return b, nil
}

// Unmap undoes Map.
func Unmap(b []byte) error { return unix.Munmap(b) }

// Populate gives shared memory its pages, which must begin with one, and this process its view
// of them, all at once: to touch them one by one takes longer. It asks as for reading, which makes pages of a memory
// file, and views that can be written, as well, and of those that are there already sixteen at a time. Where the kernel
// does not know this (before Linux 5.14), or has no memory left, they come when they are touched.
func Populate(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_READ) }

// VMWrite copies src to addr in process pid by cross-memory attach and returns
// how many bytes arrived; fewer than len(src) without an error is possible.
func VMWrite(pid int, addr uint64, src []byte) (int, error) {
	return vmCopy(unix.SYS_PROCESS_VM_WRITEV, pid, addr, src)
}

// VMRead copies from addr in process pid to dst by cross-memory attach and
// returns how many bytes arrived.
func VMRead(pid int, addr uint64, dst []byte) (int, error) {
	return vmCopy(unix.SYS_PROCESS_VM_READV, pid, addr, dst)
}

func vmCopy(call uintptr, pid int, addr uint64, local []byte) (int, error) {
	if len(local) == 0 {
		return 0, nil
	}
	n := uint64(len(local))
	liov := unix.Iovec{Base: unsafe.SliceData(local), Len: n} // local may be on a stack
	riov := struct{ addr, n uint64 }{addr, n}
	for {
		// RawSyscall: a copy is not a wait. Callers bound its size, so it
		// holds up a collection for some hundred microseconds at most.
		n, _, e := syscall.RawSyscall6(call, uintptr(pid), uintptr(unsafe.Pointer(&liov)), 1,
			uintptr(unsafe.Pointer(&riov)), 1, 0)
		if e == 0 {
			return int(n), nil
		}
		if !errors.Is(e, unix.EINTR) {
			return 0, e
		}
	}
}

// AllowAttach lets any process of this user attach to our memory where the
// Yama module would only let our ancestors.
func AllowAttach() {
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // PR_SET_PTRACER_ANY
}

// Alive reports whether the process behind a pidfd has not been reaped.
func Alive(pidfd int) bool {
	return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil
}

//go:build !portable

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
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Processes returns nil if ranks can be processes, else ErrNeedsLinux.
func Processes() error { return nil }

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

// Affinity returns the cores that the calling thread may run on, from 0.
func Affinity() (cores []int, err error) {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return nil, err
	}
	for core := range len(mask) * 64 {
		if mask.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// SetAffinity has the calling thread run on some cores, from 0.
func SetAffinity(cores []int) error {
	var mask unix.CPUSet
	for _, core := range cores {
		mask.Set(core)
	}
	return unix.SchedSetaffinity(0, &mask)
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

// TryFutex returns nil if the kernel has futexes.
func TryFutex() error {
	nobody := new(atomic.Uint32)
	if _, _, e := syscall.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(nobody)), futexWake, 1); e != 0 {
		return fmt.Errorf("futex: %w", e)
	}
	return nil
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

// Sleep sleeps for d. time.Sleep would take a millisecond at least where nothing else runs in the process.
func Sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	for unix.Nanosleep(&t, &t) == unix.EINTR {
	}
}

// ClockTick is the resolution of the monotonic clock.
func ClockTick() time.Duration {
	var t unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC, &t) != nil {
		return time.Nanosecond
	}
	return time.Duration(t.Nano())
}

// Memory is how much this machine has.
func Memory() (bytes uint64, err error) {
	var host unix.Sysinfo_t
	err = unix.Sysinfo(&host)
	return host.Totalram * uint64(host.Unit), err
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

// SealedMemory returns a new memory file whose size no process can change.
func SealedMemory(label string, size int64) (fd int, err error) {
	if fd, err = unix.MemfdCreate(label, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	if err = unix.Ftruncate(fd, size); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%d bytes of sealed memory: %w", size, err)
	}
	return fd, nil
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

// Populate gives memory its pages, and this process its view of them, all at once: to touch them one by one takes
// longer. It asks as for reading, which makes pages of a memory file, and views that can be written, as well, and of
// those that are there already sixteen at a time. Where the kernel does not know this (before Linux 5.14), or has no
// memory left, they come when they are touched.
func Populate(b []byte) { populate(b, unix.MADV_POPULATE_READ) }

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

// OpenProcess returns a pidfd, a file descriptor that stands for a process.
func OpenProcess(pid int) (pidfd int, err error) { return unix.PidfdOpen(pid, 0) }

// Alive reports whether the process behind a pidfd has not been reaped.
func Alive(pidfd int) bool {
	return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil
}

// WithParent is for a child that ends with the thread that has started it.
func WithParent(a syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGKILL
	return &a
}

// Pipe makes a pipe that children do not inherit; the end that is read comes first.
func Pipe() (ends [2]int, err error) {
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends, err
}

// Socketpair makes two connected sockets that children do not inherit.
func Socketpair() (ends [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// Connect connects to a Unix socket, which may be one without a file. Package net would start more threads.
func Connect(name string) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// PeerUser is the user whose process is at the other end of a Unix socket.
func PeerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

//go:build !linux || portable

package sys

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Processes returns nil if ranks can be processes, else ErrNeedsLinux.
func Processes() error { return ErrNeedsLinux }

// sleepers are the goroutines that sleep in FutexWait, by their words. All that sleep are of this process.
var sleepers struct {
	sync.Mutex
	on map[*atomic.Uint32][]chan struct{}
}

// FutexWait sleeps while *w == val, until FutexWake.
func FutexWait(w *atomic.Uint32, val uint32) {
	sleepers.Lock()
	if w.Load() != val { // who changes it wakes afterwards
		sleepers.Unlock()
		return
	}
	woken := make(chan struct{})
	if sleepers.on == nil {
		sleepers.on = make(map[*atomic.Uint32][]chan struct{})
	}
	sleepers.on[w] = append(sleepers.on[w], woken)
	sleepers.Unlock()
	<-woken
}

// FutexPark is FutexWait.
func FutexPark(w *atomic.Uint32, val uint32) { FutexWait(w, val) }

// FutexWake wakes at most n sleepers on w.
func FutexWake(w *atomic.Uint32, n int) {
	sleepers.Lock()
	defer sleepers.Unlock()
	all := sleepers.on[w]
	n = min(n, len(all))
	for _, woken := range all[:n] {
		close(woken)
	}
	if n == len(all) {
		delete(sleepers.on, w)
	} else {
		sleepers.on[w] = all[n:]
	}
}

// TryFutex returns ErrNeedsLinux: processes have no futexes in common.
func TryFutex() error { return ErrNeedsLinux }

// Core returns 0: the core that the caller runs on is not known.
func Core() uint32 { return 0 }

// Thread returns 0: threads have no numbers.
func Thread() int { return 0 }

// RunsOn knows no threads.
func RunsOn(int) (core uint32, ready bool) { return 0, false }

// MoveTo is not to be had.
func MoveTo(uint32) error { return ErrNeedsLinux }

// Affinity is not to be had.
func Affinity() ([]int, error) { return nil, ErrNeedsLinux }

// SetAffinity is not to be had.
func SetAffinity([]int) error { return ErrNeedsLinux }

// Yield lets other goroutines have this core.
func Yield() { runtime.Gosched() }

// Nap sleeps shortly.
func Nap() { time.Sleep(50 * time.Microsecond) }

// Sleep sleeps for d.
func Sleep(d time.Duration) { time.Sleep(d) }

// ClockTick is the resolution of Go's monotonic clock, as far as it can be told.
func ClockTick() time.Duration { return time.Nanosecond }

// Memory is not known.
func Memory() (bytes uint64, err error) { return 0, ErrNeedsLinux }

// RegisterBarrier reports that there is no membarrier.
func RegisterBarrier() bool { return false }

// Barrier is never called: RegisterBarrier has reported false.
func Barrier() { panic(ErrNeedsLinux) }

// RegisterOwnBarrier reports that there is no membarrier.
func RegisterOwnBarrier() bool { return false }

// OwnBarrier is never called: RegisterOwnBarrier has reported false.
func OwnBarrier() { panic(ErrNeedsLinux) }

// SharedMemory is not to be had.
func SharedMemory(string, int) (*os.File, error) { return nil, ErrNeedsLinux }

// SealedMemory is not to be had.
func SealedMemory(string, int64) (fd int, err error) { return -1, ErrNeedsLinux }

// Map is not to be had.
func Map(*os.File) ([]byte, error) { return nil, ErrNeedsLinux }

// Unmap undoes Map.
func Unmap([]byte) error { return ErrNeedsLinux }

// Populate has nothing to do.
func Populate([]byte) {}

// VMWrite is not to be had.
func VMWrite(int, uint64, []byte) (int, error) { return 0, ErrNeedsLinux }

// VMRead is not to be had.
func VMRead(int, uint64, []byte) (int, error) { return 0, ErrNeedsLinux }

// VMWritev is not to be had.
func VMWritev(int, []Iovec, []Iovec) (int, error) { return 0, ErrNeedsLinux }

// VMReadv is not to be had.
func VMReadv(int, []Iovec, []Iovec) (int, error) { return 0, ErrNeedsLinux }

// AllowAttach has nothing to do.
func AllowAttach() {}

// OpenProcess is not to be had.
func OpenProcess(int) (pidfd int, err error) { return -1, ErrNeedsLinux }

// Alive reports nobody as alive.
func Alive(int) bool { return false }

// Ended is not to be had.
func Ended(int) (End, bool, error) { return End{}, false, ErrNeedsLinux }

// Life tells nobody of the end of a process.
type Life struct {
	word [2]uint32
	list [4]uint64
}

// Live does what is to be done meanwhile.
func (l *Life) Live(meanwhile func()) { go meanwhile() }

// WaitForExit reports that it will not be told.
func (l *Life) WaitForExit() (waited, known bool) { return false, false }

// WithParent is for a child that ends with the thread that has started it; here it does not.
func WithParent(a syscall.SysProcAttr) *syscall.SysProcAttr { return &a }

// Pipe is not to be had in one step.
func Pipe() (ends [2]int, err error) { return ends, ErrNeedsLinux }

// Socketpair is not to be had in one step.
func Socketpair() (ends [2]int, err error) { return ends, ErrNeedsLinux }

// Connect is not to be had: Linux alone has sockets without a file.
func Connect(string) (fd int, err error) { return -1, ErrNeedsLinux }

// PeerUser is not to be had.
func PeerUser(int) (uid int, err error) { return -1, ErrNeedsLinux }

// KeepPages returns ErrNeedsLinux: there are no devices that would care.
func KeepPages() error { return ErrNeedsLinux }

// PopulateWrite does nothing.
func PopulateWrite([]byte) {}

// AddressPair is a page's address in this process and in the machine.
type AddressPair struct{ Virtual, Physical uint64 }

// AddressPairs returns ErrNeedsLinux: physical addresses are not known.
func AddressPairs(int) ([]AddressPair, error) { return nil, ErrNeedsLinux }

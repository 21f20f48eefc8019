//go:build !portable

package sys

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Life tells other processes of the end of one. It lies in memory that they share, and is a robust futex that is never
// unlocked: when its thread has ended, whatever of, the kernel says so in the word and wakes one that sleeps on it.
// That takes no file descriptor, and no number that means the same to both.
type Life struct {
	word atomic.Uint32
	_    uint32
	list struct { // struct robust_list_head, which only the kernel reads, in the process that lives
		first   uintptr
		offset  int // from an entry to its futex
		pending uintptr
	}
	entry struct{ next uintptr } // struct robust_list
}

// In a word, beside the number of the thread.
const (
	lifeWatched = 1 << 31 // FUTEX_WAITERS: its end is rung for
	lifeOver    = 1 << 30 // FUTEX_OWNER_DIED
)

// Live begins the life of this process, in a thread that also does something else, and then sleeps. The memory must
// stay where it is. Where the kernel has no set_robust_list, as under qemu, nothing will be known of its end.
func (l *Life) Live(meanwhile func()) {
	begun := make(chan bool)
	go func() {
		runtime.LockOSThread() // its end stands for the process's
		l.list.first, l.entry.next = uintptr(unsafe.Pointer(&l.entry)), uintptr(unsafe.Pointer(&l.list))
		l.list.offset = int(unsafe.Offsetof(l.word)) - int(unsafe.Offsetof(l.entry))
		w := uint32(lifeWatched)
		if _, _, errno := syscall.RawSyscall(unix.SYS_SET_ROBUST_LIST, l.entry.next, unsafe.Sizeof(l.list),
			0); errno == 0 {
			w |= uint32(Thread())
		}
		l.word.Store(w)
		FutexWake(&l.word, 1) // who may wait for it already
		close(begun)
		meanwhile()
		select {}
	}()
	<-begun
}

// WaitForExit waits for the end of a life, which may not have begun, and reports whether it had to wait. known is
// false if it will not be told.
func (l *Life) WaitForExit() (waited, known bool) {
	for ; ; waited = true {
		switch w := l.word.Load(); {
		case w&lifeOver != 0, w == lifeWatched:
			FutexWake(&l.word, 1) // another one may wait for it as well
			return waited, w != lifeWatched
		default:
			FutexWait(&l.word, w)
		}
	}
}

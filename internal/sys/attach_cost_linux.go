package sys

import (
	"os"
	"runtime"
	"time"
	"unsafe"
)

// SlowAttach is the cost of attach from which data that are copied twice, through shared memory, are there sooner.
const SlowAttach = 300

// AttachCost is what it takes to read memory by cross-memory attach, in hundredths of what it takes to
// copy as much within this core's caches: the kernel looks up each page, which takes most of the time on some
// machines (in virtual machines it was some 700 on Zen 5, 450 on Zen 4). To find it takes some
// tenths of a millisecond; it reads the caller's own memory, so that it does not matter where other
// processes are. 0 where the kernel refuses.
func AttachCost() uint32 {
	const size, tries = 256 << 10, 5
	const near = 64 << 10 // of two of these all caches next to a core have room, wherever their pages are
	src, dst := make([]byte, size), make([]byte, size)
	for i := 0; i < size; i += 4096 {
		src[i], dst[i] = 1, 1 // pages of their own
	}
	pid, addr := os.Getpid(), uint64(uintptr(unsafe.Pointer(&src[0])))
	attach, plain := time.Hour, time.Hour
	for range tries { // the least of each: others may use the core meanwhile
		start := time.Now()
		if n, err := VMRead(pid, addr, dst); n != size || err != nil {
			return 0
		}
		read := time.Now()
		for range size / near {
			copy(dst[:near], src)
		}
		attach, plain = min(attach, read.Sub(start)), min(plain, time.Since(read))
	}
	runtime.KeepAlive(src)
	return uint32(100 * attach / max(plain, 1))
}

package sys

import (
	"os"
	"runtime"
	"time"
	"unsafe"
)

// AttachIsDear reports whether it takes more than three times as long to read memory by cross-memory attach as to
// copy as much within this core's caches: the kernel looks up each page, which takes most of the time on some
// machines (it takes seven times as long on Zen 5 in a virtual machine, four times on Zen 4). Then data that are copied twice, through shared memory, are there sooner. It takes some
// tenths of a millisecond, and reads the caller's own memory, so that it does not matter where other
// processes are. False where the kernel refuses.
func AttachIsDear() bool {
	const size, tries, most = 256 << 10, 5, 3
	src, dst := make([]byte, size), make([]byte, size)
	for i := 0; i < size; i += 4096 {
		src[i], dst[i] = 1, 1 // pages of their own
	}
	pid, addr := os.Getpid(), uint64(uintptr(unsafe.Pointer(&src[0])))
	attach, plain := time.Hour, time.Hour
	for range tries { // the least of each: others may use the core meanwhile
		start := time.Now()
		if n, err := VMRead(pid, addr, dst); n != size || err != nil {
			return false
		}
		read := time.Now()
		copy(dst, src)
		attach, plain = min(attach, read.Sub(start)), min(plain, time.Since(read))
	}
	runtime.KeepAlive(src)
	return attach > most*plain
}

//go:build !portable

package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// For a device that goes by the page tables of this process and takes no page faults.

// KeepPages keeps the pages of this process where they are, those that come later as well, from when they exist.
func KeepPages() error {
	return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
}

// PopulateWrite makes the pages of b exist so that a device can write them: none is shared with a process that was
// forked, or with a file, to be copied when it is written.
// Where there is no memory, as for a buffer that a program has not got, they do not, and the device will say so.
func PopulateWrite(b []byte) { populate(b, unix.MADV_POPULATE_WRITE) }

func populate(b []byte, advice uintptr) {
	if len(b) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b))) &^ (page - 1)
	end := (uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b)) + page - 1) &^ (page - 1)
	// Syscall: this may take a while where the buffer is large.
	_, _, _ = syscall.Syscall(unix.SYS_MADVISE, first, end-first, advice)
}

// AddressPair is a page's address in this process and in the machine.
type AddressPair struct{ Virtual, Physical uint64 }

// AddressPairs makes n pages, whose addresses tell the tables of this process from those of all others, and from what
// processes that have ended have left of theirs: each is under an entry of its own in the table of the first level,
// chosen by chance. Children that are forked do not get them. It takes a privilege to know physical addresses.
func AddressPairs(n int) (pairs []AddressPair, err error) {
	const (
		top       = 512      // entries of the first level, of pages of 4 KiB and addresses of 48 bits
		topShift  = 39       // from an address to its entry there
		tries     = 64 * top // some entries are beyond what this process may use
		fixed     = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED_NOREPLACE
		readWrite = unix.PROT_READ | unix.PROT_WRITE
	)
	size := uintptr(os.Getpagesize())
	if size != 4096 {
		return nil, fmt.Errorf("pages of %d bytes: the device's are 4096", size)
	}
	used := make(map[uintptr]bool)
	for range tries {
		if len(pairs) == n {
			return pairs, nil
		}
		entry := uintptr(1 + rand.IntN(top-1))
		at := entry<<topShift | uintptr(rand.IntN(1<<(topShift-12)))<<12
		if used[entry] {
			continue
		}
		got, _, e := syscall.Syscall6(unix.SYS_MMAP, at, size, readWrite, fixed, ^uintptr(0), 0)
		if e != 0 {
			continue
		}
		if got != at { // a kernel before MAP_FIXED_NOREPLACE
			_, _, _ = syscall.Syscall(unix.SYS_MUNMAP, got, size, 0)
			return nil, errors.ErrUnsupported
		}
		used[entry] = true
		for _, advice := range []uintptr{unix.MADV_DONTFORK, unix.MADV_POPULATE_WRITE} {
			if _, _, e := syscall.Syscall(unix.SYS_MADVISE, at, size, advice); e != 0 {
				return nil, fmt.Errorf("madvise %d: %w", advice, e)
			}
		}
		p, err := physical(at)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, AddressPair{uint64(at), p})
	}
	return nil, errors.New("no room in the address space")
}

// physical is where a page of this process lies.
func physical(at uintptr) (uint64, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var entry [8]byte
	if _, err := f.ReadAt(entry[:], int64(at>>12*8)); err != nil {
		return 0, err
	}
	const present, frames = 1 << 63, 1<<55 - 1
	e := binary.LittleEndian.Uint64(entry[:])
	if e&present == 0 || e&frames == 0 {
		return 0, fmt.Errorf("/proc/self/pagemap does not tell: %w", os.ErrPermission)
	}
	return e & frames << 12, nil
}

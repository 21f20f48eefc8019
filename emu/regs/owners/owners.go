// Package owners frees the pages of processes that have ended. It stands in for a driver,
// which learns of that from the kernel: so it runs on the machine of the processes, be that
// the host of the software device or a guest.
package owners

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Watch watches the owners of pages. It belongs to one goroutine.
type Watch struct {
	owners []mmio.Reg
	fds    map[uint64]int // pidfd by process ID
}

// New watches the owners of some pages.
func New(pages []mmio.Region) *Watch {
	w := &Watch{fds: make(map[uint64]int)}
	for _, p := range pages {
		w.owners = append(w.owners, p.Reg(mmio.RegOwner))
	}
	return w
}

// Pages are those of a register file, which begins with a directory.
func Pages(file mmio.Region) (pages []mmio.Region) {
	for _, at := range []int{mmio.DirPacketizer, mmio.DirMailbox, mmio.DirChannel} {
		block := int(file.Reg(at).Load())
		count, stride := int(file.Reg(block+mmio.RegCount).Load()), int(file.Reg(block+mmio.RegStride).Load())
		for i := range count {
			pages = append(pages, file.Sub(block+i*stride, mmio.PageSize))
		}
	}
	return pages
}

// Look sets the OWNER registers of processes to 0 that have ended, reaped or not. Messages
// in their windows are still delivered; those to their mailboxes are lost.
func (w *Watch) Look() {
	used := make(map[uint64]bool, len(w.fds))
	for _, owner := range w.owners {
		pid := owner.Load()
		if pid == 0 {
			continue
		}
		used[pid] = true
		if _, known := w.fds[pid]; known {
			continue
		}
		fd, err := sys.OpenProcess(int(pid))
		switch {
		case err == nil:
			w.fds[pid] = fd
		case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
			owner.CompareAndSwap(pid, 0)
		}
	}
	for pid, fd := range w.fds {
		gone := ended(fd)
		if gone {
			for _, owner := range w.owners {
				owner.CompareAndSwap(pid, 0)
			}
		}
		if gone || !used[pid] {
			_ = unix.Close(fd)
			delete(w.fds, pid)
		}
	}
}

// Close forgets them.
func (w *Watch) Close() {
	for _, fd := range w.fds {
		_ = unix.Close(fd)
	}
	clear(w.fds)
}

func ended(pidfd int) bool {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

package regs

import (
	"errors"
	"time"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"golang.org/x/sys/unix"
)

// lookEvery is how soon pages of a process that has ended are free again.
const lookEvery = 10 * time.Millisecond

// runOwners stands in for the drivers of the nodes on this machine, which learn
// from the kernel when a process ends: it holds a pidfd for each process in an OWNER register, looks
// whether it has ended, and then sets its OWNER registers to 0. Messages in
// its windows are still delivered; those to its mailbox are lost.
func (d *Device) runOwners() {
	var all []mmio.Reg
	for _, n := range d.nodes {
		if !n.local {
			continue
		}
		for i := range n.channels {
			for _, p := range []mmio.Region{n.senders[i].page, n.mailboxes[i].page, n.channels[i].page} {
				all = append(all, p.Reg(mmio.RegOwner))
			}
		}
	}
	fds := map[uint64]int{} // pidfd by process ID
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	used := map[uint64]bool{}
	for !d.stop.Load() {
		clear(used)
		for _, owner := range all {
			pid := owner.Load()
			if pid == 0 {
				continue
			}
			used[pid] = true
			if _, known := fds[pid]; known {
				continue
			}
			fd, err := sys.OpenProcess(int(pid))
			switch {
			case err == nil:
				fds[pid] = fd
			case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
				owner.CompareAndSwap(pid, 0)
			}
		}
		for pid, fd := range fds {
			gone := ended(fd)
			if gone {
				for _, owner := range all {
					owner.CompareAndSwap(pid, 0)
				}
			}
			if gone || !used[pid] {
				_ = unix.Close(fd)
				delete(fds, pid)
			}
		}
		time.Sleep(lookEvery)
	}
}

// ended reports whether the process behind a pidfd has exited, reaped or not.
func ended(pidfd int) bool {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

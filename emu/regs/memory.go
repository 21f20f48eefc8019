package regs

import (
	"errors"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"golang.org/x/sys/unix"
)

// Memory is how the RDMA engine reaches the memory behind the channels of a
// node: what an SMMU does on the prototype. owner is the channel's OWNER
// register when the transfer began; addr is an address of that owner. The
// answers are codes of package mmio: OK, Fault, Gone. It is called by one
// goroutine. What is not OK may have been done in part; the engine puts a full
// barrier between the data of a write and the notification.
type Memory interface {
	Read(channel int, owner, addr uint64, b []byte) uint64
	Write(channel int, owner, addr uint64, b []byte) uint64
}

// processes is the memory of processes of this machine, by their IDs. It uses
// cross-memory attach even within this process: a wrong address is then an
// answer and not the end of the device.
type processes struct{}

func (processes) Read(_ int, owner, addr uint64, b []byte) uint64 {
	return whole(sys.VMRead, owner, addr, b)
}

func (processes) Write(_ int, owner, addr uint64, b []byte) uint64 {
	return whole(sys.VMWrite, owner, addr, b)
}

// whole repeats a system call until all of b is moved.
func whole(call func(int, uint64, []byte) (int, error), owner, addr uint64, b []byte) uint64 {
	for at := 0; at < len(b); {
		n, err := call(int(owner), addr+uint64(at), b[at:])
		switch {
		case errors.Is(err, unix.ESRCH):
			return mmio.Gone
		case err != nil || n == 0:
			return mmio.Fault
		}
		at += n
	}
	return mmio.OK
}

package floor

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// cookie is what the first attach writes, to see whether it arrives where it
// should: PID namespaces can name another process.
const cookie = 0x666c6f6f72_2d31

// attachable returns the child's PID and the address of its buffer if
// process_vm_writev reaches it.
func (p *Pair) attachable() (pid int, addr uint64, err error) {
	pid, addr = p.cmd.Process.Pid, p.s.target
	word := make([]byte, 8)
	mem.U64(word, 0).Store(cookie)
	if err := write(pid, addr, word); err != nil {
		return 0, 0, err
	}
	if err := p.order(orderLook, -1); err != nil {
		return 0, 0, err
	}
	if err := p.finish(); err != nil {
		return 0, 0, err
	}
	if p.s.seen != cookie {
		return 0, 0, fmt.Errorf("cross-memory attach reaches another process (PID namespaces)")
	}
	return pid, addr, nil
}

// write copies src to addr in process pid.
func write(pid int, addr uint64, src []byte) error {
	for len(src) > 0 {
		n, err := sys.VMWrite(pid, addr, src)
		switch {
		case err != nil:
			return fmt.Errorf("cross-memory attach is refused: %w", err)
		case n == 0:
			return fmt.Errorf("cross-memory attach is refused: %w", unix.EFAULT)
		}
		src, addr = src[n:], addr+uint64(n)
	}
	return nil
}

// read copies from addr in process pid to dst.
func read(pid int, addr uint64, dst []byte) error {
	for len(dst) > 0 {
		n, err := sys.VMRead(pid, addr, dst)
		switch {
		case err != nil:
			return fmt.Errorf("cross-memory attach is refused: %w", err)
		case n == 0:
			return fmt.Errorf("cross-memory attach is refused: %w", unix.EFAULT)
		}
		dst, addr = dst[n:], addr+uint64(n)
	}
	return nil
}

// Attach returns the time in microseconds of one process_vm_writev of 64 bytes
// into the other process, which sleeps.
func (p *Pair) Attach() (float64, error) {
	pid, addr, err := p.attachable()
	if err != nil {
		return 0, err
	}
	if err := pin(p.cores[0]); err != nil {
		return 0, err
	}
	src := make([]byte, 64)
	each, err := timed(50_000, func(n int) error {
		for range n {
			if err := write(pid, addr, src); err != nil {
				return err
			}
		}
		return nil
	})
	return each / 1e3, err
}

// AttachStream returns the speed, in units of 10^6 bytes a second, at which
// one process writes windows of 64 times the same 4 MiB into a buffer of the
// other, which sleeps: what an MPI does for osu_bw's largest message if the
// sender alone copies.
func (p *Pair) AttachStream() (float64, error) {
	pid, addr, err := p.attachable()
	if err != nil {
		return 0, err
	}
	if err := pin(p.cores[0]); err != nil {
		return 0, err
	}
	src := touched(bufferSize)
	each, err := timed(4*64, func(n int) error {
		for range n {
			if err := write(pid, addr, src); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return bufferSize / 1e6 / (each / 1e9), nil
}

package floor

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Yield returns the time in microseconds of one hand-over between two
// processes pinned to one core: a store to a shared word, then sched_yield
// until the other has changed it. It is what ranks that share a core pay at
// least for every step from one to the other.
func (p *Pair) Yield() (float64, error) {
	p.s.turn.Store(0)
	if err := p.begin(orderYield, p.cores[0], p.cores[0]); err != nil {
		return 0, err
	}
	turn := uint32(0)
	trip, err := timed(30_000, func(n int) error {
		for range n {
			turn += 2
			p.s.turn.Store(turn - 1) // odd: the child's
			for i := 1; p.s.turn.Load() != turn; i++ {
				sys.Yield()
				if i&0xff == 0 {
					if err := p.alive(); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	p.s.turn.Store(stop)
	return trip / 2 / 1e3, p.finish()
}

func (p *peer) yield() {
	for turn := uint32(0); ; turn += 2 {
		v := p.s.turn.Load()
		for v == turn {
			sys.Yield()
			v = p.s.turn.Load()
		}
		if v == stop {
			return
		}
		p.s.turn.Store(turn + 2)
	}
}

// Pipe returns the time in microseconds of one hand-over between two processes
// pinned to one core that block in reads of a pipe: a write, the reader's
// wake-up, and a context switch.
func (p *Pair) Pipe() (float64, error) {
	if err := p.begin(orderPipe, p.cores[0], p.cores[0]); err != nil {
		return 0, err
	}
	// The kernel's end of file, or a write without a reader, tells that the
	// child is gone.
	word := []byte{1}
	out, in := int(p.out.Fd()), int(p.in.Fd())
	trip, err := timed(10_000, func(n int) error {
		for range n {
			if err := writeByte(out, word); err != nil {
				return fmt.Errorf("%w has ended: %w", ErrPeer, err)
			}
			if err := readByte(in, word); err != nil {
				return fmt.Errorf("%w has ended: %w", ErrPeer, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	word[0] = 0
	if err := writeByte(out, word); err != nil {
		return 0, fmt.Errorf("%w has ended: %w", ErrPeer, err)
	}
	return trip / 2 / 1e3, p.finish()
}

// pipe answers every byte until one is zero.
func (p *peer) pipe() error {
	word := make([]byte, 1)
	for {
		if err := readByte(p.read, word); err != nil {
			return err
		}
		if word[0] == 0 {
			return nil
		}
		if err := writeByte(p.write, word); err != nil {
			return err
		}
	}
}

func readByte(fd int, b []byte) error {
	for {
		switch n, err := unix.Read(fd, b); {
		case n == 1:
			return nil
		case err == nil:
			return io.EOF
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

func writeByte(fd int, b []byte) error {
	for {
		if _, err := unix.Write(fd, b); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

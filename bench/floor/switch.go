package floor

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Yield returns the time in microseconds of one hand-over between two
// processes pinned to one core: a store to a shared word, then sched_yield
// until the other has changed it. It is what ranks that share a core pay at
// least for every step from one to the other.
func (p *Pair) Yield() (float64, error) {
	const rounds = 30_000
	p.s.turn.Store(0)
	if err := p.begin(orderYield, p.cores[0], p.cores[0], rounds); err != nil {
		return 0, err
	}
	var start time.Time
	for i := range uint32(rounds) {
		if i == 1 { // the child has answered once: it is here
			start = time.Now()
		}
		p.s.turn.Store(2*i + 1)
		for n := 1; p.s.turn.Load() != 2*i+2; n++ {
			sys.Yield()
			if n&0xff == 0 {
				if err := p.alive(); err != nil {
					return 0, err
				}
			}
		}
	}
	elapsed := time.Since(start)
	return float64(elapsed.Nanoseconds()) / 1e3 / (2 * (rounds - 1)), p.finish()
}

func (p *peer) yield() {
	for i := range uint32(p.s.rounds) {
		for p.s.turn.Load() != 2*i+1 {
			sys.Yield()
		}
		p.s.turn.Store(2*i + 2)
	}
}

// Pipe returns the time in microseconds of one hand-over between two processes
// pinned to one core that block in reads of a pipe: a write, the reader's
// wake-up, and a context switch.
func (p *Pair) Pipe() (float64, error) {
	const rounds = 10_000
	if err := p.begin(orderPipe, p.cores[0], p.cores[0], rounds); err != nil {
		return 0, err
	}
	// The kernel's end of file, or a write without a reader, tells that the
	// child is gone.
	word := make([]byte, 1)
	out, in := int(p.out.Fd()), int(p.in.Fd())
	var start time.Time
	for i := range rounds {
		if i == 1 {
			start = time.Now()
		}
		if err := writeByte(out, word); err != nil {
			return 0, fmt.Errorf("%w has ended: %w", ErrPeer, err)
		}
		if err := readByte(in, word); err != nil {
			return 0, fmt.Errorf("%w has ended: %w", ErrPeer, err)
		}
	}
	elapsed := time.Since(start)
	return float64(elapsed.Nanoseconds()) / 1e3 / (2 * (rounds - 1)), p.finish()
}

func (p *peer) pipe() error {
	word := make([]byte, 1)
	for range p.s.rounds {
		if err := readByte(p.read, word); err != nil {
			return err
		}
		if err := writeByte(p.write, word); err != nil {
			return err
		}
	}
	return nil
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

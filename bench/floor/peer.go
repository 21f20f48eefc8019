package floor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// peer is the child's side of a Pair.
type peer struct {
	s           *shared
	memory      []byte
	read, write int
	buffer      []byte
}

// Peer is the child's side: it carries out the orders of the process that
// started it with Open, and returns when told to, or is one of those of Oversubscribed. It is
// killed when that process ends.
func Peer() error {
	runtime.LockOSThread()
	file := os.NewFile(fdShared, "shared memory")
	if file == nil {
		return fmt.Errorf("this command is started by a measurement, not by hand")
	}
	memory, err := sys.Map(file)
	if err != nil {
		return fmt.Errorf("this command is started by a measurement, not by hand: %w", err)
	}
	if len(memory) >= oversubscribedHeader && mem.Struct[oversubscribed](memory, 0).mark == oversubscribedMark {
		return exchangeBlocks(memory)
	}
	if len(memory) != sharedSize {
		return fmt.Errorf("this command is started by a measurement, not by hand: %d bytes of shared memory",
			len(memory))
	}
	p := &peer{s: mem.Struct[shared](memory, 0), memory: memory, read: fdRead, write: fdWrite,
		buffer: touched(bufferSize)}
	p.s.target = mem.Addr(p.buffer)
	for done := uint32(0); ; {
		for p.s.order.Load() == done {
			sys.FutexWait(&p.s.order, done)
		}
		done = p.s.order.Load()
		if p.s.what == orderQuit {
			return nil
		}
		p.s.failed.Store(errno(p.obey()))
		p.s.done.Store(done)
	}
}

func (p *peer) obey() error {
	if p.s.core >= 0 {
		if err := pin(int(p.s.core)); err != nil {
			return err
		}
	}
	switch p.s.what {
	case orderPong:
		p.pong()
	case orderYield:
		p.yield()
	case orderPipe:
		return p.pipe()
	case orderWake:
		p.sleep()
	case orderMessage:
		return p.message()
	case orderStream:
		p.stream()
	case orderExchange:
		return p.exchange()
	case orderLook:
		p.s.seen = mem.U64(p.buffer, 0).Load()
	}
	return nil
}

// errno makes an error into what fits into shared memory.
func errno(err error) uint32 {
	if err == nil {
		return 0
	}
	var e syscall.Errno
	if errors.As(err, &e) && e != 0 {
		return uint32(e)
	}
	return uint32(syscall.EIO)
}

// touched returns n bytes whose pages all exist.
func touched(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += mem.CacheLine {
		b[i] = 1
	}
	return b
}

package floor

import (
	"os"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// largestExchange is the size of the longest blocks of Exchange, in bytes: a buffer has two to
// be sent and two to be received.
const largestExchange = bufferSize / 4

// Exchange returns the time in microseconds in which both processes, at once, copy a block of
// n bytes within their memory and read another one from the other process: what an
// MPI has to do for an Alltoall or Allgather of two ranks, without the MPI.
func (p *Pair) Exchange(n int) (float64, error) {
	if _, _, err := p.attachable(); err != nil {
		return 0, err
	}
	return p.exchange(oneCopies, n)
}

// exchange is Exchange, if each reaches the other, or via shared memory: then both copy pieces into
// some of it that stays in the caches, and out of it what the other does.
func (p *Pair) exchange(how uint32, n int) (float64, error) {
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	sys.AllowAttach() // the child reads here
	if p.message4M == nil {
		p.message4M = touched(bufferSize)
	}
	s := p.s
	s.ping, s.pong, s.pingDone, s.pongDone = 0, 0, 0, 0
	s.put, s.theirPut = 0, 0
	s.how, s.size, s.parent, s.source = how, uint64(n), uint64(os.Getpid()), mem.Addr(p.message4M)
	if err := p.begin(orderExchange, mine, theirs); err != nil {
		return 0, err
	}
	e := exchange{how: how, n: n, buf: p.message4M, pid: p.cmd.Process.Pid, far: s.target, memory: p.memory,
		put: &s.put, theirPut: &s.theirPut, alive: p.alive}
	i := uint64(0)
	each, err := timedBlocks(1, 20_000, func(steps int) error {
		for range steps {
			i++
			mem.Publish(&s.ping, i)
			if err := p.spin(&s.pong, i); err != nil {
				return err
			}
			if err := e.work(0); err != nil {
				return err
			}
			mem.Publish(&s.pingDone, i)
			if err := p.spin(&s.pongDone, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	mem.Publish(&s.ping, stop)
	return each / 1e3, p.finish()
}

// exchange is one side's view: two blocks to be sent at the beginning of each buffer, and
// then the two that are received.
type exchange struct {
	how uint32
	n   int
	buf []byte
	pid int
	far uint64 // the other's buffer

	memory        []byte // shared; and how many pieces each has put there
	put, theirPut *uint64
	alive         func() error // whether the other is; nil: it kills this process as it ends
}

func (e *exchange) work(me int) error {
	sent, received := e.buf[:2*e.n], e.buf[2*e.n:4*e.n]
	own, other := me*e.n, (1-me)*e.n
	copy(received[own:own+e.n], sent[own:])
	if e.how == viaShared {
		return e.pieces(me, received[other:other+e.n], sent[other:other+e.n])
	}
	return read(e.pid, e.far+uint64(own), received[other:other+e.n])
}

// pieces copies what is sent into this side's slots, and what is received out of the other's. A slot is
// written again streamRoom pieces later: who has put a piece has taken those before it.
func (e *exchange) pieces(me int, received, sent []byte) error {
	for at := 0; at < e.n; at += streamPiece {
		i, end := *e.put, min(at+streamPiece, e.n)
		mem.Across(streamSlot(e.memory, me, i), sent[at:end])
		mem.Publish(e.put, i+1)
		for k := 1; atomic.LoadUint64(e.theirPut) <= i; k++ {
			if k&0xfff == 0 && e.alive != nil {
				if err := e.alive(); err != nil {
					return err
				}
			}
		}
		mem.Across(received[at:end], streamSlot(e.memory, 1-me, i))
	}
	return nil
}

// exchange does its part until it is told to stop.
func (p *peer) exchange() error {
	s := p.s
	e := exchange{how: s.how, n: int(s.size), buf: p.buffer, pid: int(s.parent), far: s.source, memory: p.memory,
		put: &s.theirPut, theirPut: &s.put}
	for i := uint64(1); ; i++ {
		v := atomic.LoadUint64(&s.ping)
		for v == i-1 {
			v = atomic.LoadUint64(&s.ping)
		}
		if v == stop {
			return nil
		}
		mem.Publish(&s.pong, i)
		if err := e.work(1); err != nil {
			return err
		}
		for atomic.LoadUint64(&s.pingDone) != i {
		}
		mem.Publish(&s.pongDone, i)
	}
}

package floor

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// LargestMessage is that of Message, in bytes.
const LargestMessage = bufferSize

// The ways in which a message can go from one process to the other, whose buffers are
// their own memory.
const (
	viaShared  = iota // copied into shared memory, behind the word that announces it, and out of it
	oneCopies         // one side copies, by cross-memory attach: the one that we are
	bothCopies        // each side copies a half
)

// MessageTimes are those of a message of some size from one process to the other, half of a
// ping-pong, in microseconds, and those of an Exchange of two such, by attach and through shared memory; 0 where
// the system refuses the way, and of longer exchanges than the buffers have room for.
type MessageTimes struct {
	Size                        int
	Shared, One, Both           float64
	Exchange, ExchangeViaShared float64
}

// Message returns how long a message takes at least, in three ways. It is what an MPI has
// to do for it, without the MPI: no matching, no queue, and buffers that are in caches.
func (p *Pair) Message(size int) (t MessageTimes, err error) {
	if size < 0 || size > LargestMessage {
		return t, fmt.Errorf("a message of %d bytes: at most %d are measured", size, LargestMessage)
	}
	t.Size = size
	if t.Shared, err = p.message(viaShared, size); err != nil {
		return t, err
	}
	if size > 0 && size <= largestExchange {
		if t.ExchangeViaShared, err = p.exchange(viaShared, size); err != nil {
			return t, err
		}
	}
	if _, _, err := p.attachable(); err != nil || size == 0 {
		return t, nil
	}
	sys.AllowAttach() // the child reads and writes here
	if t.One, err = p.message(oneCopies, size); err != nil {
		return t, err
	}
	if t.Both, err = p.message(bothCopies, size); err != nil || size > largestExchange {
		return t, err
	}
	t.Exchange, err = p.exchange(oneCopies, size)
	return t, err
}

func (p *Pair) message(how uint32, size int) (float64, error) {
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	if p.message4M == nil {
		p.message4M = touched(LargestMessage)
	}
	s := p.s
	s.ping, s.pong, s.pingDone, s.pongDone = 0, 0, 0, 0
	s.how, s.size, s.parent, s.source = how, uint64(size), uint64(os.Getpid()), mem.Addr(p.message4M)
	there, back := slots(p.memory)
	there.word.Store(0)
	back.word.Store(0)
	if err := p.begin(orderMessage, mine, theirs); err != nil {
		return 0, err
	}
	e := end{how: how, buf: p.message4M[:size], pid: p.cmd.Process.Pid, far: s.target, announce: &s.ping,
		announced: &s.pong, half: &s.pingDone, theirHalf: &s.pongDone, out: there, in: back, copies: how != viaShared}
	i := uint64(0)
	block := 32
	if size >= 8<<10 { // reading the clock takes no time against it
		block = 1
	}
	trip, err := timedBlocks(block, max(320, min(50_000, 1<<30/(size+1))), func(n int) error {
		for range n {
			i++
			if err := e.send(i); err != nil {
				return err
			}
			if err := p.spin(e.comes(), i); err != nil {
				return err
			}
			if err := e.receive(i, func(w *uint64) error { return p.spin(w, i) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	mem.Publish(e.goes(), stop)
	return trip / 2 / 1e3, p.finish()
}

// slot is shared memory for a message in one direction: the word that announces it and,
// in the same cache line if it is short, its bytes.
type slot struct {
	word *atomic.Uint64
	data []byte
}

// slots are behind the words that both processes share.
func slots(memory []byte) (there, back slot) {
	at := func(off int) slot {
		return slot{mem.U64(memory, off), memory[off+8 : off+slotSize]}
	}
	return at(wordsSize), at(wordsSize + slotSize)
}

// slotSize is a multiple of a page.
const slotSize = LargestMessage + 4096

// end is one side's view of the messages.
type end struct {
	how    uint32
	buf    []byte
	pid    int
	far    uint64 // the other's buffer
	copies bool   // in oneCopies, this side does

	announce, announced *uint64 // words without a slot: ours, theirs
	half, theirHalf     *uint64
	out, in             slot
}

// goes is the word that announces our messages, comes that of theirs.
func (e *end) goes() *uint64 {
	if e.how == viaShared {
		return mem.Deref[uint64](mem.Addr(e.out.data) - 8)
	}
	return e.announce
}

func (e *end) comes() *uint64 {
	if e.how == viaShared {
		return mem.Deref[uint64](mem.Addr(e.in.data) - 8)
	}
	return e.announced
}

// send sends message i.
func (e *end) send(i uint64) error {
	switch e.how {
	case viaShared:
		mem.Across(e.out.data, e.buf)
	case oneCopies:
		if e.copies {
			if err := write(e.pid, e.far, e.buf); err != nil {
				return err
			}
		}
	case bothCopies:
		mem.Publish(e.announce, i) // the other begins with its half
		half := len(e.buf) / 2
		if err := write(e.pid, e.far, e.buf[:half]); err != nil {
			return err
		}
		mem.Publish(e.half, i)
		return nil
	}
	mem.Publish(e.goes(), i)
	return nil
}

// receive takes message i, which has been announced; wait waits for a word to become i.
func (e *end) receive(i uint64, wait func(*uint64) error) error {
	switch e.how {
	case viaShared:
		mem.Across(e.buf, e.in.data)
	case oneCopies:
		if e.copies {
			return read(e.pid, e.far, e.buf)
		}
	case bothCopies:
		half := len(e.buf) / 2
		if err := read(e.pid, e.far+uint64(half), e.buf[half:]); err != nil {
			return err
		}
		return wait(e.theirHalf)
	}
	return nil
}

// message answers messages until it is told to stop.
func (p *peer) message() error {
	s := p.s
	there, back := slots(p.memory)
	e := end{how: s.how, buf: p.buffer[:s.size], pid: int(s.parent), far: s.source, announce: &s.pong,
		announced: &s.ping, half: &s.pongDone, theirHalf: &s.pingDone, out: back, in: there}
	for i := uint64(1); ; i++ {
		v := atomic.LoadUint64(e.comes())
		for v == i-1 {
			v = atomic.LoadUint64(e.comes())
		}
		if v == stop {
			return nil
		}
		err := e.receive(i, func(w *uint64) error {
			for atomic.LoadUint64(w) != i {
			}
			return nil
		})
		if err == nil {
			err = e.send(i)
		}
		if err != nil {
			return err
		}
	}
}

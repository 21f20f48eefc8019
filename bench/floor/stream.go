package floor

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Of Stream: messages of so many bytes go in pieces through as much shared memory as
// holds a few of them, so that it stays in the caches.
const (
	streamed    = 1 << 20
	streamPiece = 16 << 10
	streamRoom  = 8
)

// Stream returns the speed, in units of 10^6 bytes a second, at which one process copies
// into a little shared memory while the other copies out of it: what is left for long
// messages where the system refuses cross-memory attach.
func (p *Pair) Stream() (float64, error) {
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	s := p.s
	s.ping, s.pong = 0, 0
	if err := p.begin(orderStream, mine, theirs); err != nil {
		return 0, err
	}
	src, put := touched(streamed), uint64(0)
	each, err := timed(2000, func(n int) error {
		for range n {
			for at := 0; at < streamed; at += streamPiece {
				for i := 1; put-atomic.LoadUint64(&s.pong) >= streamRoom; i++ {
					if i&0xfff == 0 {
						if err := p.alive(); err != nil {
							return err
						}
					}
				}
				mem.Across(streamSlot(p.memory, 0, put), src[at:at+streamPiece])
				put++
				mem.Publish(&s.ping, put)
			}
		}
		return p.spin(&s.pong, put)
	})
	if err != nil {
		return 0, err
	}
	mem.Publish(&s.ping, stop)
	return streamed / each * 1e3, p.finish()
}

// streamSlot is where a side, 0 or 1, puts piece i.
func streamSlot(memory []byte, side int, i uint64) []byte {
	at := wordsSize + side*slotSize + int(i%streamRoom)*streamPiece
	return memory[at : at+streamPiece]
}

// stream takes the pieces out until it is told to stop.
func (p *peer) stream() {
	for got := uint64(0); ; got++ {
		v := atomic.LoadUint64(&p.s.ping)
		for v == got {
			v = atomic.LoadUint64(&p.s.ping)
		}
		if v == stop {
			return
		}
		at := int(got*streamPiece) % streamed
		mem.Across(p.buffer[at:at+streamPiece], streamSlot(p.memory, 0, got))
		mem.Publish(&p.s.pong, got+1)
	}
}

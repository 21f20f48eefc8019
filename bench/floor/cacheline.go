package floor

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// CacheLine returns the time in nanoseconds from a store on one core until a
// core that polls the word has seen it: half the round trip of two words, each
// alone in its cache line, written with plain stores.
func (p *Pair) CacheLine() (float64, error) {
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	p.s.ping, p.s.pong = 0, 0
	if err := p.begin(orderPong, mine, theirs); err != nil {
		return 0, err
	}
	i := uint64(0)
	trip, err := timed(200_000, func(n int) error {
		for range n {
			i++
			mem.Publish(&p.s.ping, i)
			if err := p.spin(&p.s.pong, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	mem.Publish(&p.s.ping, stop)
	return trip / 2, p.finish()
}

func (p *peer) pong() {
	for i := uint64(1); ; i++ {
		v := atomic.LoadUint64(&p.s.ping)
		for v == i-1 {
			v = atomic.LoadUint64(&p.s.ping)
		}
		if v == stop {
			return
		}
		mem.Publish(&p.s.pong, i)
	}
}

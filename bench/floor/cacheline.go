package floor

import (
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// CacheLine returns the time in nanoseconds from a store on one core until a
// core that polls the word has seen it: half the round trip of two words, each
// alone in its cache line, written with plain stores.
func (p *Pair) CacheLine() (float64, error) {
	const rounds, warmup = 200_000, 2_000
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	p.s.ping, p.s.pong = 0, 0
	if err := p.begin(orderPong, mine, theirs, rounds); err != nil {
		return 0, err
	}
	var start time.Time
	for i := uint64(1); i <= rounds; i++ {
		if i == warmup+1 {
			start = time.Now()
		}
		mem.Publish(&p.s.ping, i)
		if err := p.spin(&p.s.pong, i); err != nil {
			return 0, err
		}
	}
	elapsed := time.Since(start)
	return float64(elapsed.Nanoseconds()) / (2 * (rounds - warmup)), p.finish()
}

func (p *peer) pong() {
	for i := uint64(1); i <= p.s.rounds; i++ {
		for atomic.LoadUint64(&p.s.ping) != i {
		}
		mem.Publish(&p.s.pong, i)
	}
}

package floor

import (
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// asleep is how long after its announcement the child is taken to be asleep in
// the kernel, and its core idle.
const asleep = 200 * time.Microsecond

// Wake returns the median time in microseconds from a store and FUTEX_WAKE on
// one core until the answer of a process that slept on another core has
// arrived. One trip of a cache line, the answer's, is contained.
func (p *Pair) Wake() (float64, error) {
	mine, theirs, err := p.twoCores()
	if err != nil {
		return 0, err
	}
	p.s.bell.Store(0)
	p.s.armed.Store(0)
	p.s.pong = 0
	if err := p.begin(orderWake, mine, theirs); err != nil {
		return 0, err
	}
	var times []float64
	i := uint32(0)
	for begin := time.Now(); len(times) < 200 && (i < 5 || time.Since(begin) < budget); {
		i++
		for p.s.armed.Load() != i {
			if err := p.alive(); err != nil {
				return 0, err
			}
		}
		for from := time.Now(); time.Since(from) < asleep; {
		}
		start := time.Now()
		p.ring(i)
		if err := p.spin(&p.s.pong, uint64(i)); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
	}
	p.ring(stop)
	return median(times), p.finish()
}

// ring wakes the child with a number.
func (p *Pair) ring(i uint32) {
	p.s.bell.Store(i)
	sys.FutexWake(&p.s.bell, 1)
}

func (p *peer) sleep() {
	for i := uint32(1); ; i++ {
		p.s.armed.Store(i)
		for p.s.bell.Load() == i-1 {
			sys.FutexWait(&p.s.bell, i-1)
		}
		if p.s.bell.Load() == stop {
			return
		}
		mem.Publish(&p.s.pong, uint64(i))
	}
}

package bench

import (
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// Latency measures a blocking ping-pong between the first and the last rank of
// c, as osu_latency does: half the round trip, in microseconds. Rank 0 gets
// the rows.
func Latency(c *mpi.Comm, s Sweep) ([]Row, error) {
	return s.latency(c, ends)
}

// MultiLatency measures the same between each rank of the lower half and one of the upper
// half at the same time, as osu_multi_lat does: the mean over the pairs. It needs an even
// number of ranks. Rank 0 gets the rows.
func MultiLatency(c *mpi.Comm, s Sweep) ([]Row, error) { return s.latency(c, halves) }

func (s Sweep) latency(c *mpi.Comm, paired func(*mpi.Comm) (*pair, error)) ([]Row, error) {
	allocations := make(map[int]float64)
	rows, err := s.sweep(c, paired, func(p *pair, size int) (us float64, err error) {
		n := s.counts(size, counts{10000, 100}, counts{1000, 10})
		before := allocated()
		us, err = p.latency(size, n)
		allocations[size] = float64(allocated()-before) / float64(2*(n.iterations+n.warmup))
		return us, err
	})
	for i := range rows {
		rows[i].Allocations = allocations[rows[i].Size]
	}
	return rows, err
}

// allocated is how many objects this process has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func (p *pair) latency(size int, n counts) (float64, error) {
	send, recv := p.send[:size], p.recv[:size]
	var start time.Duration
	for i := range n.warmup + n.iterations {
		if i == n.warmup {
			start = p.comm.Now()
		}
		if p.first {
			if err := p.give(send); err != nil {
				return 0, err
			}
		}
		if err := p.take(recv); err != nil {
			return 0, err
		}
		if p.last {
			if err := p.give(send); err != nil {
				return 0, err
			}
		}
	}
	return microseconds(p.comm.Now()-start) / float64(2*n.iterations), nil
}

// give and take move a message of a ping-pong.
func (p *pair) give(b []byte) error {
	if p.tcp != nil {
		return p.tcp.send(b)
	}
	return mpi.Send(p.comm, b, p.peer, tagData)
}

func (p *pair) take(b []byte) error {
	if p.tcp != nil {
		return p.tcp.recv(b)
	}
	_, err := mpi.Recv(p.comm, b, p.from, tagData)
	return err
}

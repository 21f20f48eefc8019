package bench

import (
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// FastReceive measures MPI_Send where the receive has been posted before, by two ranks, as
// the thesis does (ch. 4, figs. 4.11 to 4.13): the receiver posts a non-blocking receive, both meet in a
// barrier, and the sender sends. The rows are the mean times of the send in
// microseconds. Rank 0, which is the sender, gets them.
func FastReceive(c *mpi.Comm, s Sweep) ([]Row, error) {
	if c.Size() != 2 {
		return nil, fmt.Errorf("%w: this benchmark needs two ranks", mpi.ErrRank)
	}
	return s.sweep(c, ends, func(p *pair, size int) (float64, error) {
		n := s.counts(size, counts{1000, 10}, counts{1000, 10})
		var sum time.Duration
		for i := range n.warmup + n.iterations {
			if p.last {
				q, err := mpi.Irecv(c, p.recv[:size], p.peer, tagData)
				if err == nil {
					err = c.Barrier()
				}
				if err == nil {
					_, err = q.Wait()
				}
				if err != nil {
					return 0, err
				}
				continue
			}
			if err := c.Barrier(); err != nil {
				return 0, err
			}
			start := c.Now()
			if err := mpi.Send(c, p.send[:size], p.peer, tagData); err != nil {
				return 0, err
			}
			if i >= n.warmup {
				sum += c.Now() - start
			}
		}
		return microseconds(sum) / float64(n.iterations), nil
	})
}

package bench

import (
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// Barrier measures the time of a barrier of all ranks of c, as osu_barrier
// does: the mean over iterations and ranks, in microseconds. Of Sweep it uses
// all but Sizes. Rank 0 gets the row; its Size is the number of ranks.
func Barrier(c *mpi.Comm, s Sweep) (Row, error) {
	n := s.counts(0, counts{1000, 200}, counts{})
	row := Row{Size: c.Size()}
	mean := make([]float64, 1)
	for range s.Repeat {
		us, err := barrier(c, n)
		if err != nil {
			return Row{}, err
		}
		if err := mpi.Reduce(c, []float64{us}, mean, mpi.Sum, 0); err != nil {
			return Row{}, err
		}
		row.Repeats = append(row.Repeats, mean[0]/float64(c.Size()))
	}
	row.Value = Median(row.Repeats)
	return row, nil
}

func barrier(c *mpi.Comm, n counts) (float64, error) {
	var sum time.Duration
	for i := range n.warmup + n.iterations {
		start := c.Now()
		if err := c.Barrier(); err != nil {
			return 0, err
		}
		if i >= n.warmup {
			sum += c.Now() - start
		}
	}
	return microseconds(sum) / float64(n.iterations), nil
}

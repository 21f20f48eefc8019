package bench

import (
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// turnTime is how long InTurn stays with one way, about.
const turnTime = 5 * time.Millisecond

// Iterations of a turn of InTurn.
const (
	leastInTurn = 3
	mostInTurn  = 1000
)

// InTurn measures a collective, or "barrier", on communicators of the same ranks that
// perform it in different ways. They take turns of some milliseconds, in rounds there
// and back, so that all see the same machine. Rank 0 gets the rows of each, medians of
// s.Repeat rounds, in microseconds as with Collective.
func InTurn(ways []*mpi.Comm, name string, s Sweep) ([][]Row, error) {
	call := collectiveCalls[name]
	if name == "barrier" {
		call = func(c *mpi.Comm, _ *operands) error { return c.Barrier() }
	}
	if call == nil {
		return nil, fmt.Errorf("there is no benchmark of the collective %q", name)
	}
	if err := settle(ways[0], s.Settle); err != nil {
		return nil, err
	}
	rows := make([][]Row, len(ways))
	for _, size := range s.Sizes {
		o := newOperands(name, size, ways[0].Size(), ways[0].Rank() == 0)
		n := make([]counts, len(ways))
		turn := func(i int) (float64, error) {
			us, err := timed(ways[i], n[i], func() error { return call(ways[i], o) })
			sum := []float64{us}
			if err == nil {
				err = mpi.Allreduce(ways[i], nil, sum, mpi.Sum)
			}
			return sum[0] / float64(ways[i].Size()), err
		}
		for i := range ways {
			rows[i] = append(rows[i], Row{Size: size})
			n[i] = counts{iterations: leastInTurn, warmup: 1}
			us, err := turn(i)
			if err != nil {
				return nil, err
			}
			n[i].iterations = max(leastInTurn, min(mostInTurn, int(microseconds(turnTime)/max(us, 1))))
			if s.Iterations > 0 {
				n[i].iterations = s.Iterations
			}
		}
		for round := range s.Repeat {
			for i := range ways {
				if round%2 == 1 {
					i = len(ways) - 1 - i
				}
				us, err := turn(i)
				if err != nil {
					return nil, err
				}
				r := &rows[i][len(rows[i])-1]
				r.Repeats = append(r.Repeats, us)
				r.Value = Median(r.Repeats)
			}
		}
	}
	if ways[0].Rank() != 0 {
		return nil, nil
	}
	return rows, nil
}

// settle has all ranks exchange messages for some time, see Sweep.Settle.
func settle(c *mpi.Comm, d time.Duration) error {
	over := []bool{false}
	for start := time.Now(); !over[0]; {
		over[0] = time.Since(start) >= d
		if err := mpi.Bcast(c, over, 0); err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

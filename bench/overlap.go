package bench

import (
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/mpi"
)

// Names of the columns of Overlap.
const (
	PureName      = "alone"
	ComputingName = "computing"
	AwayName      = "away"
)

// Overlap measures how much of a non-blocking Allreduce is hidden behind
// something else of the same length. The columns are the mean times, in
// microseconds, of Iallreduce and Wait alone; with a computation in between that
// takes as long as those; and with the program away for so long, as if a device
// computed, so that its core is free. If all is hidden, they are equal. Rank 0
// gets the columns.
func Overlap(c *mpi.Comm, s Sweep) ([]Column, error) {
	columns := []Column{{Name: PureName}, {Name: ComputingName}, {Name: AwayName}}
	repeats := s.Repeat
	s.Repeat = 1
	for range repeats {
		alone := make(map[int]time.Duration)
		for i, between := range []func(time.Duration){func(time.Duration) {}, compute, sys.Sleep} {
			rows, err := s.collective(c, func(size int, n counts) (float64, error) {
				o := newOperands("allreduce", size, c.Size(), c.Rank() == 0)
				us, err := timed(c, n, func() error {
					q, err := mpi.Iallreduce(c, o.sumIn, o.sumOut, mpi.Sum)
					if err != nil {
						return err
					}
					between(alone[size])
					_, err = q.Wait()
					return err
				})
				if i == 0 {
					alone[size] = time.Duration(us * 1e3)
				}
				return us, err
			})
			if err != nil {
				return nil, err
			}
			for j, r := range rows {
				if columns[i].Rows == nil {
					columns[i].Rows = make([]Row, len(rows))
				}
				row := &columns[i].Rows[j]
				row.Size, row.Repeats = r.Size, append(row.Repeats, r.Value)
				row.Value = Median(row.Repeats)
			}
		}
	}
	if c.Rank() != 0 {
		return nil, nil
	}
	return columns, nil
}

// compute keeps a core busy.
func compute(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

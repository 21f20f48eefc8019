package reproduce

import (
	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

// graph runs mpiGraph: the bandwidths of sends, and of receives in other.
func graph(l *lab, s setup) (reading, error) {
	var f reading
	r, err := l.run(s, func(c *mpi.Comm) error {
		columns, err := bench.Graph(c, bench.Sweep{Sizes: []int{s.size}, Iterations: 1, Warmup: 0, Repeat: 1})
		if c.Rank() == 0 && err == nil {
			f.value, f.other = columns[0].Rows[0].Value, columns[1].Rows[0].Value
		}
		return err
	})
	if err != nil {
		return f, err
	}
	f.messages, f.receives, f.fast = r.Messages, r.Counters.Receives, r.Counters.FastReceives
	return f, nil
}

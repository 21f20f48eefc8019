package bench

import (
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// Order says when the two ranks of Progress compute, and for how many units: before they post, between that and the
// wait, and after the wait.
type Order struct {
	Name             string
	Sender, Receiver [3]float64
}

// Orders are those of Small and Yuan (ICS 2009, figures 9 and 10), whose unit is ProgressUnit.
var Orders = []Order{
	{"9a-10", [3]float64{0, 0, 60}, [3]float64{10}},
	{"9a-20", [3]float64{0, 0, 60}, [3]float64{20}},
	{"9a-30", [3]float64{0, 0, 60}, [3]float64{30}},
	{"9a-40", [3]float64{0, 0, 60}, [3]float64{40}},
	{"9a-50", [3]float64{0, 0, 60}, [3]float64{50}},
	{"9b", [3]float64{0, 20, 0}, [3]float64{5, 5, 20}},
	{"10a", [3]float64{20, 20, 20}, [3]float64{}},
	{"10b", [3]float64{27, 0, 0}, [3]float64{20, 20, 20}},
}

func (o Order) String() string {
	return fmt.Sprintf("  %-6s sender %v, receiver %v", o.Name, o.Sender, o.Receiver)
}

// ProgressUnit is the paper's: a fifth of what a transfer of 100 KB took on its cluster.
const ProgressUnit = 18 * time.Microsecond

// Progress measures how far a message gets while its two ranks compute (Small and Yuan, section 5): both meet in a
// barrier, then rank 0 sends and rank 1 receives by a non-blocking call and a wait, and each computes as an
// Order says. The columns are the mean times of such a round in microseconds, one for each order. Rank 0 gets them.
func Progress(c *mpi.Comm, s Sweep, orders []Order, unit time.Duration) ([]Column, error) {
	if c.Size() != 2 {
		return nil, fmt.Errorf("progress is between two ranks, not %d", c.Size())
	}
	columns := make([]Column, len(orders))
	for i, o := range orders {
		rows, err := s.sweep(c, ends, func(p *pair, size int) (float64, error) {
			n := s.counts(size, counts{1000, 10}, counts{200, 5})
			var start time.Duration
			for k := range n.warmup + n.iterations {
				if err := c.Barrier(); err != nil {
					return 0, err
				}
				if k == n.warmup {
					start = c.Now()
				}
				if err := p.round(o, size, unit); err != nil {
					return 0, err
				}
			}
			if err := c.Barrier(); err != nil {
				return 0, err
			}
			return microseconds(c.Now()-start) / float64(n.iterations), nil
		})
		if err != nil {
			return nil, err
		}
		columns[i] = Column{Name: o.Name, Rows: rows}
	}
	return columns, nil
}

// round is one message, and what its rank computes around it.
func (p *pair) round(o Order, size int, unit time.Duration) error {
	work := o.Sender
	if p.last {
		work = o.Receiver
	}
	compute := func(i int) { p.comm.Compute(time.Duration(work[i] * float64(unit))) }
	compute(0)
	var q *mpi.Request
	var err error
	if p.last {
		q, err = mpi.Irecv(p.comm, p.recv[:size], p.from, tagData)
	} else {
		q, err = mpi.Isend(p.comm, p.send[:size], p.peer, tagData)
	}
	if err != nil {
		return err
	}
	compute(1)
	_, err = q.Wait()
	compute(2)
	return err
}

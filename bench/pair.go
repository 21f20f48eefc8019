package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// pair is this rank's view of a benchmark between pairs of ranks, one of which begins.
type pair struct {
	comm       *mpi.Comm
	pairs      int
	first      bool
	last       bool
	peer       int
	from       int // of receives: peer, or any source
	send, recv []byte
	tcp        *tcp // what carries the messages; nil: MPI
}

// ends are the first and the last rank of c; the others are in no pair.
func ends(c *mpi.Comm) (*pair, error) {
	if c.Size() < 2 {
		return nil, fmt.Errorf("%w: this benchmark needs two ranks or more", mpi.ErrRank)
	}
	p := &pair{comm: c, pairs: 1, first: c.Rank() == 0, last: c.Rank() == c.Size()-1, peer: c.Size() - 1}
	if p.last {
		p.peer = 0
	}
	return p, nil
}

// halves pairs each rank of the lower half, which begins, with one of the upper half.
func halves(c *mpi.Comm) (*pair, error) {
	if c.Size()%2 == 1 {
		return nil, fmt.Errorf("%w: this benchmark needs an even number of ranks", mpi.ErrRank)
	}
	half := c.Size() / 2
	first := c.Rank() < half
	return &pair{comm: c, pairs: half, first: first, last: !first, peer: (c.Rank() + half) % c.Size()}, nil
}

// sweep runs measure for every size, Repeat times over all sizes, so that a
// disturbance that lasts for a while does not fall on one size alone. measure
// is called on the ranks of the pairs; others wait in a barrier. Rank 0 gets the means
// over the pairs of what it returns on the ranks that begin.
func (s Sweep) sweep(c *mpi.Comm, paired func(*mpi.Comm) (*pair, error),
	measure func(p *pair, size int) (float64, error)) ([]Row, error) {
	p, err := paired(c)
	if err != nil {
		return nil, err
	}
	if p.from = p.peer; s.AnySource {
		p.from = mpi.AnySource
	}
	if p.first || p.last {
		largest := slices.Max(s.Sizes)
		p.send, p.recv = make([]byte, largest), make([]byte, largest)
		fill(p.send, 'a')
		fill(p.recv, 'b')
		if err := p.settle(s.Settle); err != nil {
			return nil, err
		}
		if s.TCP {
			if err := p.connect(); err != nil {
				return nil, err
			}
			defer p.tcp.close()
		}
	}
	rows := make([]Row, len(s.Sizes))
	mine, sum := make([]float64, 1), make([]float64, 1)
	for range s.Repeat {
		for i, size := range s.Sizes {
			if err := c.Barrier(); err != nil {
				return nil, err
			}
			mine[0] = 0
			if p.first || p.last {
				v, err := measure(p, size)
				if err != nil {
					return nil, fmt.Errorf("messages of %d bytes: %w", size, err)
				}
				if p.first {
					mine[0] = v
				}
			}
			if err := mpi.Reduce(c, mine, sum, mpi.Sum, 0); err != nil {
				return nil, err
			}
			rows[i].Size = size
			rows[i].Repeats = append(rows[i].Repeats, sum[0]/float64(p.pairs))
		}
	}
	if err := c.Barrier(); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		return nil, nil
	}
	for i := range rows {
		rows[i].Value = Median(rows[i].Repeats)
	}
	return rows, nil
}

// settle exchanges short messages for so long. The first rank has the clock.
func (p *pair) settle(d time.Duration) error {
	more := []byte{1}
	for start := time.Now(); more[0] == 1; {
		if p.last {
			if _, err := mpi.Recv(p.comm, more, p.peer, tagSettle); err != nil {
				return err
			}
		} else if time.Since(start) >= d {
			more[0] = 0
		}
		if err := mpi.Send(p.comm, more, p.peer, tagSettle); err != nil {
			return err
		}
		if p.first {
			if _, err := mpi.Recv(p.comm, more, p.peer, tagSettle); err != nil {
				return err
			}
		}
	}
	return nil
}

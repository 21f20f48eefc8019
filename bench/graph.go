package bench

import (
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// graphWindow is how many messages mpiGraph has on their way to each side at a time.
const graphWindow = 10

// Graph measures bandwidth under load, as mpiGraph does: in each step every rank sends
// windows of messages to the rank so many places to its right, and receives from that
// to its left, with any tag; the distance grows from 1 to the number of ranks less
// one. Rank 0 gets two columns, the bandwidths of sending and of receiving in units of
// 10^6 bytes a second, means over the steps and the ranks.
func Graph(c *mpi.Comm, s Sweep) ([]Column, error) {
	if c.Size() < 2 {
		return nil, fmt.Errorf("%w: this benchmark needs two ranks or more", mpi.ErrRank)
	}
	columns := []Column{{Name: "Send (MB/s)"}, {Name: "Receive (MB/s)"}}
	for range s.Repeat {
		for i, size := range s.Sizes {
			mine, sum := make([]float64, 2), make([]float64, 2)
			g := &graph{comm: c, in: make([]byte, size), out: make([]byte, size)}
			n := s.counts(size, counts{10, 1}, counts{10, 1})
			for distance := 1; distance < c.Size(); distance++ {
				out, in, err := g.step(distance, n)
				if err != nil {
					return nil, fmt.Errorf("messages of %d bytes at distance %d: %w", size, distance, err)
				}
				mine[0] += out / float64(c.Size()-1)
				mine[1] += in / float64(c.Size()-1)
			}
			if err := mpi.Reduce(c, mine, sum, mpi.Sum, 0); err != nil {
				return nil, err
			}
			for k := range columns {
				if len(columns[k].Rows) == i {
					columns[k].Rows = append(columns[k].Rows, Row{Size: size})
				}
				r := &columns[k].Rows[i]
				r.Repeats = append(r.Repeats, sum[k]/float64(c.Size()))
				r.Value = Median(r.Repeats)
			}
		}
	}
	if c.Rank() != 0 {
		return nil, nil
	}
	return columns, nil
}

type graph struct {
	comm        *mpi.Comm
	in, out     []byte
	sends, recv []*mpi.Request
}

// step returns the bandwidths of this rank in the step of a distance.
func (g *graph) step(distance int, n counts) (out, in float64, err error) {
	c := g.comm
	right, left := (c.Rank()+distance)%c.Size(), (c.Rank()-distance+c.Size())%c.Size()
	if err := c.Barrier(); err != nil {
		return 0, 0, err
	}
	var sending, receiving time.Duration
	for i := range n.warmup + n.iterations {
		start := c.Now()
		s, r, err := g.window(right, left)
		if err != nil {
			return 0, 0, err
		}
		if i >= n.warmup {
			sending += s - start
			receiving += r - start
		}
	}
	bytes := float64(n.iterations * graphWindow * len(g.out))
	return bytes / microseconds(sending), bytes / microseconds(receiving), nil
}

// window exchanges a window of messages and returns when all sends, and all receives,
// had ended.
func (g *graph) window(right, left int) (sent, received time.Duration, err error) {
	c := g.comm
	g.sends, g.recv = g.sends[:0], g.recv[:0]
	for range graphWindow {
		q, err := mpi.Irecv(c, g.in, left, mpi.AnyTag)
		if err != nil {
			return 0, 0, err
		}
		g.recv = append(g.recv, q)
	}
	for range graphWindow {
		q, err := mpi.Isend(c, g.out, right, tagData)
		if err != nil {
			return 0, 0, err
		}
		g.sends = append(g.sends, q)
	}
	outDone, inDone := false, false
	for !outDone || !inDone {
		if !outDone {
			if outDone, err = mpi.TestAll(g.sends...); err != nil {
				return 0, 0, err
			}
			sent = c.Now()
		}
		if !inDone {
			if inDone, err = mpi.TestAll(g.recv...); err != nil {
				return 0, 0, err
			}
			received = c.Now()
		}
	}
	return sent, received, nil
}

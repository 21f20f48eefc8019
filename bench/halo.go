package bench

import (
	"fmt"

	"github.com/exanet-mpi/exanet/mpi"
)

// Halo measures the exchange of a 27-point stencil on a grid of ranks with three
// dimensions that does not wrap around, as HPCG makes it: each rank has a cube of
// size^3 numbers of 8 bytes and receives from up to 26 neighbours a face, an edge or a
// corner, with receives that are posted before the sends, which block. The rows' Size
// is that of the cube's edge. Rank 0 gets the mean times in microseconds.
func Halo(c *mpi.Comm, s Sweep) ([]Row, error) {
	dims, err := mpi.Dims(c.Size(), 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return s.collective(c, func(size int, n counts) (float64, error) {
		h := newHalo(c, dims, size)
		if n.iterations > 100 {
			n = counts{100, min(n.warmup, 10)}
		}
		return timed(c, n, h.exchange)
	})
}

// halo is a rank's part of the exchange.
type halo struct {
	comm       *mpi.Comm
	neighbours []int
	in, out    [][]byte
	reqs       []*mpi.Request
}

func newHalo(c *mpi.Comm, dims []int, size int) *halo {
	h := &halo{comm: c}
	me := [3]int{c.Rank() / (dims[1] * dims[2]), c.Rank() / dims[2] % dims[1], c.Rank() % dims[2]}
	for k := range 27 {
		step := [3]int{k/9 - 1, k/3%3 - 1, k%3 - 1}
		rank, bytes, inside := 0, 8, k != 13
		for d := range 3 {
			at := me[d] + step[d]
			inside = inside && at >= 0 && at < dims[d]
			rank = rank*dims[d] + at
			if step[d] == 0 {
				bytes *= size
			}
		}
		if inside {
			h.neighbours = append(h.neighbours, rank)
			h.in, h.out = append(h.in, make([]byte, bytes)), append(h.out, make([]byte, bytes))
		}
	}
	return h
}

func (h *halo) exchange() error {
	h.reqs = h.reqs[:0]
	for i, rank := range h.neighbours {
		q, err := mpi.Irecv(h.comm, h.in[i], rank, tagData)
		if err != nil {
			return fmt.Errorf("from rank %d: %w", rank, err)
		}
		h.reqs = append(h.reqs, q)
	}
	for i, rank := range h.neighbours {
		if err := mpi.Send(h.comm, h.out[i], rank, tagData); err != nil {
			return fmt.Errorf("to rank %d: %w", rank, err)
		}
	}
	return mpi.WaitAll(h.reqs...)
}

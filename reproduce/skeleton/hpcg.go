package skeleton

import (
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/topo"
)

// HPCG is the preconditioned conjugate gradients of the HPCG benchmark, with 64 x 64 x 64 points
// for each rank. An iteration has three dot products, each an Allreduce of 8 bytes, one product of the matrix
// with a vector, and a multigrid cycle over four levels, each of half the side. Before each of these
// operations the halo of its level is exchanged with up to 26 neighbours: receives, blocking
// sends, waits.
var HPCG = &Code{
	Name:   "HPCG",
	About:  "64 x 64 x 64 points for each rank",
	Check:  anyRanks,
	Work:   func(ranks int) float64 { return float64(ranks) * hpcgPoints },
	Buffer: func(int) int { return double * hpcgSide * hpcgSide },
	begin: func(r *rank) (func() error, error) {
		h, err := newHPCG(r)
		if err != nil {
			return nil, err
		}
		return h.step, nil
	},
}

const (
	hpcgSide, hpcgLevels = 64, 4
	// hpcgPoints is how many points a rank goes through in an iteration: the product, and in the cycle two sweeps to
	// and fro (of two products each) and a product on each level, on the last one sweep.
	hpcgPoints = hpcgSide * hpcgSide * hpcgSide * (1 + 5 + 5./8 + 5./64 + 2./512)
)

type neighbour struct {
	rank  int
	loose int // dimensions in which it is at the same place: 2 for faces
}

type hpcg struct {
	r          *rank
	neighbours []neighbour
}

func newHPCG(r *rank) (*hpcg, error) {
	h := &hpcg{r: r}
	found, err := topo.Dims(r.comm.Size(), make([]int, 3))
	if err != nil {
		return nil, err
	}
	dims := [3]int(found)
	me := place(r.comm.Rank(), dims)
	for d := range 27 {
		step := [3]int{d%3 - 1, d/3%3 - 1, d/9 - 1}
		to := me
		loose := 0
		for i := range to {
			to[i] += step[i]
			if step[i] == 0 {
				loose++
			}
		}
		if peer := at(to, dims, false); peer >= 0 && loose < 3 {
			h.neighbours = append(h.neighbours, neighbour{peer, loose})
		}
	}
	slices.SortFunc(h.neighbours, func(a, b neighbour) int { return a.rank - b.rank })
	return h, nil
}

func (h *hpcg) step() error {
	if err := h.dot(); err != nil {
		return err
	}
	if err := h.cycle(hpcgSide, 1); err != nil {
		return err
	}
	if err := h.dot(); err != nil {
		return err
	}
	if err := h.operate(hpcgSide, 1); err != nil {
		return err
	}
	return h.dot()
}

func (h *hpcg) cycle(side, level int) error {
	if level == hpcgLevels {
		return h.operate(side, 2)
	}
	return all(
		func() error { return h.operate(side, 2) }, // smooth
		func() error { return h.operate(side, 1) }, // residual
		func() error { return h.cycle(side/2, level+1) },
		func() error { return h.operate(side, 2) },
	)
}

func (h *hpcg) dot() error {
	in, out := [1]float64{}, [1]float64{}
	return mpi.Allreduce(h.r.comm, in[:], out[:], mpi.Sum)
}

func (h *hpcg) operate(side int, products float64) error {
	if err := h.halo(side); err != nil {
		return err
	}
	h.r.work(products * float64(side*side*side))
	return nil
}

func (h *hpcg) halo(side int) error {
	for _, n := range h.neighbours {
		if err := h.r.irecv(haloBytes(side, n.loose), n.rank); err != nil {
			return err
		}
	}
	for _, n := range h.neighbours {
		if err := h.r.send(haloBytes(side, n.loose), n.rank); err != nil {
			return err
		}
	}
	return h.r.wait()
}

// haloBytes is a face, an edge or a corner.
func haloBytes(side, loose int) int {
	n := double
	for range loose {
		n *= side
	}
	return n
}

// HPCGTimes are the mean times of the two kinds of communication of HPCG, without computation.
type HPCGTimes struct{ Halo, Allreduce time.Duration }

// TimeHPCG measures the halo exchange of a side and the Allreduce of a dot product, as HPCG reports them: each call
// comes after as much computation at every rank.
func TimeHPCG(comm *mpi.Comm, o Options, side int) (t HPCGTimes, err error) {
	n := HPCG.Buffer(comm.Size())
	r := &rank{comm: comm, point: o.Point, out: o.Send, in: o.Recv}
	if r.out == nil {
		r.out, r.in = make([]byte, n), make([]byte, n)
	}
	h, err := newHPCG(r)
	if err != nil {
		return t, err
	}
	for i := range o.Warmup + o.Iterations {
		r.work(float64(side * side * side))
		start := comm.Now()
		if err := h.halo(side); err != nil {
			return t, err
		}
		halo := comm.Now() - start
		r.work(float64(side * side * side))
		start = comm.Now()
		if err := h.dot(); err != nil {
			return t, err
		}
		if i >= o.Warmup {
			t.Halo += halo
			t.Allreduce += comm.Now() - start
		}
	}
	t.Halo /= time.Duration(o.Iterations)
	t.Allreduce /= time.Duration(o.Iterations)
	return t, nil
}

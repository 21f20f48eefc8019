package skeleton

import (
	"fmt"
	"math"
)

// SP is NAS SP: a pentadiagonal solver on a cube of 64 points a side in multi-partition form. The ranks
// are q x q, and each has q cells that lie on a diagonal of the cube, so that all ranks
// work in every step of a line solve. In an iteration, faces of two layers are exchanged with six neighbours;
// then, for each dimension, q steps of elimination forwards, which pass 22 values a point of the cell's
// face to the next rank, and q steps of substitution backwards, which pass 10.
//
// Of the computation the right-hand side is taken for a quarter, and each dimension for a quarter.
var SP = &Code{
	Name:  "SP",
	About: "class A: 64 x 64 x 64 points",
	Check: func(ranks int) error {
		if q := squareRoot(ranks); q < 1 || q*q != ranks {
			return fmt.Errorf("needs a square number of ranks: %d", ranks)
		}
		return nil
	},
	Work: func(int) float64 { return spSide * spSide * spSide },
	Buffer: func(ranks int) int {
		q := squareRoot(ranks)
		return 6 * spFace(q) * max(10*q, 22)
	},
	begin: func(r *rank) (func() error, error) {
		q := squareRoot(r.comm.Size())
		me := r.comm.Rank()
		i, j := me%q, me/q
		to := func(i, j int) int { return (i+q)%q + q*((j+q)%q) }
		s := &sp{r: r, q: q, face: spFace(q)}
		s.next = [3]int{to(i+1, j), to(i, j+1), to(i-1, j-1)}
		s.previous = [3]int{to(i-1, j), to(i, j-1), to(i+1, j+1)}
		return s.step, nil
	},
}

const spSide = 64

func squareRoot(n int) int { return int(math.Round(math.Sqrt(float64(n)))) }

// spFace is the bytes of one value for each point of a cell's face.
func spFace(q int) int { return spSide * spSide / (q * q) * double }

type sp struct {
	r              *rank
	q, face        int
	next, previous [3]int
}

func (s *sp) step() error {
	if err := s.faces(); err != nil {
		return err
	}
	s.r.work(s.points() / 4)
	for dim := range 3 {
		if err := s.solve(s.previous[dim], s.next[dim], 22, 2./3); err != nil {
			return err
		}
		if err := s.solve(s.next[dim], s.previous[dim], 10, 1./3); err != nil {
			return err
		}
	}
	return nil
}

// points is those of a rank.
func (s *sp) points() float64 { return spSide * spSide * spSide / float64(s.q*s.q) }

func (s *sp) faces() error {
	n := 10 * s.face * (s.q - 1) // all cells but the one at the border
	if n == 0 {
		return nil
	}
	for dim := range 3 {
		if err := all(
			func() error { return s.r.irecv(n, s.next[dim]) },
			func() error { return s.r.irecv(n, s.previous[dim]) },
		); err != nil {
			return err
		}
	}
	for dim := range 3 {
		if err := all(
			func() error { return s.r.isend(n, s.next[dim]) },
			func() error { return s.r.isend(n, s.previous[dim]) },
		); err != nil {
			return err
		}
	}
	return s.r.wait()
}

// solve goes through the cells of a dimension. The receive for a cell is posted before the
// computation that needs no neighbour.
func (s *sp) solve(from, to, values int, share float64) error {
	cell := s.points() / float64(s.q) / 4 * share
	for stage := range s.q {
		if stage > 0 {
			if err := s.r.irecv(values*s.face, from); err != nil {
				return err
			}
		}
		s.r.work(cell / 2)
		if err := s.r.wait(); err != nil {
			return err
		}
		s.r.work(cell / 2)
		if stage < s.q-1 {
			if err := s.r.isend(values*s.face, to); err != nil {
				return err
			}
		}
	}
	return s.r.wait()
}

package stencil

import (
	"fmt"
	"math"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// vanished is the squared residual below which an iteration would divide
// numbers that have lost their digits.
const vanished = 0x1p-960

// Solver holds one rank's part of the system and all scratch memory of the
// iterations. It belongs to one goroutine.
type Solver struct {
	comm   *mpi.Comm // nil: this is the whole grid, and there are no messages
	layout Layout
	rank   int

	rhs  []float64
	x    []float64
	r    []float64
	q    []float64
	sums []float64
	p    field
	halo *halo

	in, out [1]float64 // operands of the allreduce
	times   Times
}

// Options ends and observes a solve.
type Options struct {
	Iterations int     // most iterations to make
	Tolerance  float64 // stop at this residual, relative to the right-hand side's norm

	// Each, if set, is called on every rank after every iteration with its
	// number, from 1, and the relative residual.
	Each func(iteration int, residual float64)

	// Computed, if set, is called on every rank after each piece of computation with
	// the number of its floating-point operations: where time is virtual, the
	// computation has taken none.
	Computed func(operations int)
}

// Floating-point operations a point.
const (
	applyOperations  = 16
	stepOperations   = 6
	directOperations = 2
)

// computed tells of a computation of so many operations a point.
func (s *Solver) computed(o *Options, operations int) {
	if o.Computed != nil {
		o.Computed(operations * s.layout.Points())
	}
}

// now is the rank's clock.
func (s *Solver) now() time.Duration {
	if s.comm == nil {
		return 0 // nobody asks for the times of a serial solve
	}
	return s.comm.Now()
}

// Result is the outcome of a solve; the same on all ranks, except Times.
type Result struct {
	Iterations int
	Residual   float64 // |r| / |b| as the iteration carries it on
	Times      Times
}

// Times is what one rank spent in the three parts of a solve. Halo includes
// packing and unpacking.
type Times struct {
	Halo, Allreduce, Compute time.Duration
}

// New prepares a system in which every rank of comm holds local points. The
// solver uses the tags 0 to 26 of comm. The error wraps ErrGrid.
func New(comm *mpi.Comm, local [3]int) (*Solver, error) {
	l, err := NewLayout(comm.Size(), local)
	if err != nil {
		return nil, err
	}
	return newSolver(comm, l, comm.Rank()), nil
}

func newSolver(comm *mpi.Comm, l Layout, rank int) *Solver {
	n := l.Points()
	return &Solver{
		comm: comm, layout: l, rank: rank,
		rhs:  rightHandSide(l, rank),
		x:    make([]float64, n),
		r:    make([]float64, n),
		q:    make([]float64, n),
		sums: make([]float64, l.Local[0]+2),
		p:    newField(l.Local),
		halo: newHalo(comm, l, rank),
	}
}

// Layout returns how the grid is divided.
func (s *Solver) Layout() Layout { return s.layout }

// Solution returns this rank's part of the solution, x fastest. It belongs to
// the solver and changes with the next Solve.
func (s *Solver) Solution() []float64 { return s.x }

// Solve runs conjugate gradients from zero. All ranks call it with the same
// Iterations and Tolerance. An error is one of package mpi.
func (s *Solver) Solve(o Options) (Result, error) {
	s.times = Times{}
	start := s.now()
	clear(s.x)
	clear(s.p.val)
	copy(s.r, s.rhs)
	s.p.direct(s.r, 0)

	rr, err := s.allreduce(dot(s.r, s.r))
	if err != nil {
		return Result{}, err
	}
	res := Result{Residual: 1}
	for norm := math.Sqrt(rr); res.Iterations < o.Iterations && res.Residual > o.Tolerance && rr > vanished; {
		before := s.now()
		if err := s.halo.exchange(s.p); err != nil {
			return Result{}, err
		}
		s.times.Halo += s.now() - before

		product := s.p.apply(s.q, s.sums)
		s.computed(&o, applyOperations)
		pq, err := s.allreduce(product)
		if err != nil {
			return Result{}, err
		}
		product = s.p.step(s.x, s.r, s.q, rr/pq)
		s.computed(&o, stepOperations)
		next, err := s.allreduce(product)
		if err != nil {
			return Result{}, err
		}
		s.p.direct(s.r, next/rr)
		s.computed(&o, directOperations)
		rr = next
		res.Iterations++
		res.Residual = math.Sqrt(rr) / norm
		if o.Each != nil {
			o.Each(res.Iterations, res.Residual)
		}
	}
	s.times.Compute = s.now() - start - s.times.Halo - s.times.Allreduce
	res.Times = s.times
	return res, nil
}

// allreduce sums v over the ranks.
func (s *Solver) allreduce(v float64) (float64, error) {
	if s.comm == nil {
		return v, nil
	}
	before := s.now()
	s.in[0] = v
	if err := mpi.Allreduce(s.comm, s.in[:], s.out[:], mpi.Sum); err != nil {
		return 0, fmt.Errorf("dot product: %w", err)
	}
	s.times.Allreduce += s.now() - before
	return s.out[0], nil
}

// MeanTimes returns the times averaged over the ranks, on rank 0. All ranks
// call it.
func MeanTimes(comm *mpi.Comm, t Times) (Times, error) {
	mine := []int64{int64(t.Halo), int64(t.Allreduce), int64(t.Compute)}
	sum := make([]int64, len(mine))
	if err := mpi.Reduce(comm, mine, sum, mpi.Sum, 0); err != nil {
		return Times{}, fmt.Errorf("mean of the times: %w", err)
	}
	n := time.Duration(comm.Size())
	return Times{time.Duration(sum[0]) / n, time.Duration(sum[1]) / n, time.Duration(sum[2]) / n}, nil
}

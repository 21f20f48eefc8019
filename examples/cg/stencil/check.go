package stencil

import (
	"errors"
	"fmt"
	"math"

	"github.com/exanet-mpi/exanet/mpi"
)

// ErrMismatch is the error of a solve whose result differs from the serial one.
var ErrMismatch = errors.New("the parallel solve differs from the serial one")

// Verdict compares a parallel solve with a serial one of the same global
// system, with the same number of iterations. All values are relative: to the
// norm of the right-hand side, or of the serial solution.
type Verdict struct {
	Iterations int64
	Residual   float64 // as the parallel iteration reported it
	Serial     float64 // as the serial iteration reported it
	True       float64 // |b - A x| of the parallel solution, computed serially
	Difference float64 // |x - x serial|
	Allowed    float64 // the most that Difference and the residuals' differences may be
}

// Err returns nil if the solves agree, otherwise an error that wraps
// ErrMismatch and names what differs.
func (v Verdict) Err() error {
	for _, c := range []struct {
		what string
		by   float64
	}{
		{"the residual", math.Abs(v.Residual - v.Serial)},
		{"the residual computed from the solution", math.Abs(v.True - v.Residual)},
		{"the solution", v.Difference},
	} {
		if !(c.by <= v.Allowed) { // a NaN must fail too
			return fmt.Errorf("%w: %s by %.3g, allowed are %.3g", ErrMismatch, c.what, c.by, v.Allowed)
		}
	}
	return nil
}

// allowed is the difference that rounding explains.
//
// The two solves do the same arithmetic except for the order in which the dot
// products are summed. For sums of N terms that changes a step's length by
// about sqrt(N) eps, eps = 2^-53 (rounding errors of random sign), in each of
// the iterations. In general the condition number multiplies that in the
// solution; here it does not, because the known solution is rough, so that
// |b| is nearly |A| |x|. For the same reason the drift between the residual
// that the iteration carries on and the true one stays below iterations times
// eps (Greenbaum 1997). The factor 8 is for two dot products an iteration and
// the difference of two solves, doubled. Measured differences are some 1e-16
// to 1e-15, hundreds of times less; a wrong, missing or late halo value
// changes the result by its share of the whole, about 1/sqrt(N) times the
// residual of that iteration, which is larger by orders of magnitude.
func allowed(n [3]int, iterations int) float64 {
	points := float64(n[0]) * float64(n[1]) * float64(n[2])
	return 8 * 0x1p-53 * math.Sqrt(points) * float64(iterations+1)
}

// Check gathers the solution on rank 0, which solves the whole system without
// messages and compares. All ranks call it after Solve and get the verdict;
// they sleep in MPI while rank 0 computes. Rank 0 needs memory for the whole
// grid, about 80 bytes a point. An error is one of package mpi: a difference
// is no error here, but Verdict.Err tells.
func (s *Solver) Check(res Result) (Verdict, error) {
	verdict := make([]Verdict, 1)
	if s.rank == 0 {
		whole, err := s.gather()
		if err != nil {
			return Verdict{}, err
		}
		if verdict[0], err = s.compare(whole, res); err != nil {
			return Verdict{}, err
		}
	} else if err := mpi.Send(s.comm, s.x, 0, 0); err != nil {
		return Verdict{}, fmt.Errorf("send the solution: %w", err)
	}
	if err := mpi.Bcast(s.comm, verdict, 0); err != nil {
		return Verdict{}, fmt.Errorf("spread the verdict: %w", err)
	}
	return verdict[0], nil
}

// gather returns the whole solution as a field, on rank 0.
func (s *Solver) gather() (field, error) {
	whole := newField(s.layout.Global())
	part := make([]float64, s.layout.Points())
	for rank := range s.layout.Size() {
		src := part
		if rank == s.rank {
			src = s.x
		} else if _, err := mpi.Recv(s.comm, part, rank, 0); err != nil {
			return field{}, fmt.Errorf("gather the solution of rank %d: %w", rank, err)
		}
		b := box{lo: s.layout.Origin(rank)}
		for i := range 3 {
			b.lo[i]++
			b.hi[i] = b.lo[i] + s.layout.Local[i]
		}
		whole.unpack(src, b)
	}
	return whole, nil
}

// compare solves the whole system serially, with as many iterations as the
// parallel solve made, and compares.
func (s *Solver) compare(whole field, res Result) (Verdict, error) {
	serial := newSolver(nil, s.layout.Whole(), 0)
	want, err := serial.Solve(Options{Iterations: res.Iterations})
	if err != nil {
		return Verdict{}, err
	}
	image := make([]float64, len(serial.rhs))
	whole.apply(image, serial.sums)
	var rest float64
	for i, b := range serial.rhs {
		rest += (b - image[i]) * (b - image[i])
	}
	got := make([]float64, len(serial.x))
	whole.pack(got, box{lo: [3]int{1, 1, 1}, hi: [3]int{whole.n[0] + 1, whole.n[1] + 1, whole.n[2] + 1}})
	var diff float64
	for i, x := range serial.x {
		diff += (x - got[i]) * (x - got[i])
	}
	return Verdict{
		Iterations: int64(res.Iterations),
		Residual:   res.Residual,
		Serial:     want.Residual,
		True:       math.Sqrt(rest / dot(serial.rhs, serial.rhs)),
		Difference: math.Sqrt(diff / max(dot(serial.x, serial.x), math.SmallestNonzeroFloat64)),
		Allowed:    allowed(whole.n, res.Iterations),
	}, nil
}

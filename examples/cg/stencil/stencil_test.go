package stencil

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/mpi"
)

// solve runs a solve and its check on in-process ranks and returns the verdict
// of rank 0. spoil, if set, may damage a rank's solver before.
func solve(t *testing.T, ranks int, local [3]int, o Options, spoil func(*Solver)) (Verdict, Result) {
	t.Helper()
	var verdict Verdict
	var result Result
	require.NoError(t, mpi.Run(ranks, func(world *mpi.Comm) error {
		s, err := New(world, local)
		if err != nil {
			return err
		}
		if spoil != nil {
			spoil(s)
		}
		res, err := s.Solve(o)
		if err != nil {
			return err
		}
		v, err := s.Check(res)
		if err == nil && world.Rank() == 0 {
			verdict, result = v, res
		}
		return err
	}))
	return verdict, result
}

func TestSolveEqualsSerialSolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ranks int
		local [3]int
	}{
		{1, [3]int{1, 1, 1}},
		{1, [3]int{5, 4, 3}},
		{2, [3]int{1, 1, 1}},
		{2, [3]int{7, 1, 3}},
		{3, [3]int{3, 5, 7}},
		{4, [3]int{9, 8, 7}},
		{5, [3]int{2, 3, 11}},
		{6, [3]int{4, 4, 5}},
		{7, [3]int{3, 3, 3}},
		{8, [3]int{5, 3, 2}},
		{8, [3]int{13, 9, 11}},
	} {
		t.Run(fmt.Sprintf("%d ranks of %v", c.ranks, c.local), func(t *testing.T) {
			v, res := solve(t, c.ranks, c.local, Options{Iterations: 300, Tolerance: 1e-10}, nil)
			require.NoError(t, v.Err())
			require.LessOrEqual(t, v.True, 1.001e-10)
			require.Positive(t, res.Iterations)
			// The bound must not be near what honest rounding does.
			require.Less(t, v.Difference, v.Allowed/2)
		})
	}
}

// A solve stopped long before convergence is compared just as tightly.
func TestUnfinishedSolveEqualsSerialSolve(t *testing.T) {
	t.Parallel()
	v, res := solve(t, 8, [3]int{10, 6, 8}, Options{Iterations: 5}, nil)
	require.NoError(t, v.Err())
	require.Equal(t, 5, res.Iterations)
	require.Greater(t, v.True, 1e-4)
}

// A solve far beyond what the number format can resolve ends with a number.
func TestSolveBeyondPrecision(t *testing.T) {
	t.Parallel()
	v, res := solve(t, 2, [3]int{3, 5, 2}, Options{Iterations: 1000}, nil)
	require.NoError(t, v.Err())
	require.False(t, math.IsNaN(res.Residual))
}

func TestKnownSolutionIsFound(t *testing.T) {
	t.Parallel()
	require.NoError(t, mpi.Run(4, func(world *mpi.Comm) error {
		s, err := New(world, [3]int{6, 5, 4})
		if err != nil {
			return err
		}
		if _, err := s.Solve(Options{Iterations: 200, Tolerance: 1e-12}); err != nil {
			return err
		}
		origin, n := s.Layout().Origin(world.Rank()), s.Layout().Global()
		for at, x := range s.Solution() {
			i, j, k := at%6, at/6%5, at/30
			want := exact(origin[0]+i, origin[1]+j, origin[2]+k, n)
			if math.Abs(x-want) > 1e-9 {
				return fmt.Errorf("rank %d, point %d: %v instead of %v", world.Rank(), at, x, want)
			}
		}
		return nil
	}))
}

// One value in the wrong place of the halo of one rank must not pass.
func TestCheckNoticesAWrongHalo(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Solver){
		"corner of one rank is lost": func(s *Solver) {
			if s.rank == 5 {
				for i := range s.halo.links {
					if ln := &s.halo.links[i]; ln.recvBox.points() == 1 {
						ln.recvBox = box{}
					}
				}
			}
		},
		"two faces are exchanged": func(s *Solver) {
			if s.rank == 0 {
				l := s.halo.links
				l[0].recvBox, l[2].recvBox = l[2].recvBox, l[0].recvBox
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := solve(t, 8, [3]int{4, 4, 4}, Options{Iterations: 40, Tolerance: 1e-10}, spoil)
			require.ErrorIs(t, v.Err(), ErrMismatch)
		})
	}
}

func TestVerdictFailsOnNaN(t *testing.T) {
	require.ErrorIs(t, Verdict{Allowed: 1, Difference: math.NaN()}.Err(), ErrMismatch)
}

// naive is the matrix as it is defined: 26 on the diagonal, -1 for each of the
// neighbours.
func naive(f field, i, j, k int) float64 {
	v := 27 * f.row(j+1, k+1)[i+1]
	for dk := range 3 {
		for dj := range 3 {
			for di := range 3 {
				v -= f.row(j+dj, k+dk)[i+di]
			}
		}
	}
	return v
}

func TestApplyIsTheMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 6)
		n := [3]int{side.Draw(t, "x"), side.Draw(t, "y"), side.Draw(t, "z")}
		f := newField(n)
		value := rapid.IntRange(-1000, 1000) // whole numbers: every sum is exact
		for i := range f.val {
			f.val[i] = float64(value.Draw(t, "value"))
		}
		out := make([]float64, n[0]*n[1]*n[2])
		product := f.apply(out, make([]float64, n[0]+2))
		var want float64
		for at, got := range out {
			i, j, k := at%n[0], at/n[0]%n[1], at/n[0]/n[1]
			require.Equal(t, naive(f, i, j, k), got)
			want += got * f.row(j+1, k+1)[i+1]
		}
		require.Equal(t, want, product)
	})
}

func TestFactor(t *testing.T) {
	for n, want := range map[int][3]int{
		1: {1, 1, 1}, 2: {2, 1, 1}, 4: {2, 2, 1}, 6: {3, 2, 1}, 8: {2, 2, 2}, 12: {3, 2, 2}, 16: {4, 2, 2},
		24: {4, 3, 2}, 27: {3, 3, 3}, 31: {31, 1, 1}, 36: {4, 3, 3}, 48: {4, 4, 3}, 64: {4, 4, 4},
	} {
		require.Equal(t, want, Factor(n), "%d ranks", n)
	}
	for n := range 64 {
		f := Factor(n + 1)
		require.Equal(t, n+1, f[0]*f[1]*f[2])
	}
}

// What one rank sends in a direction is what its neighbour expects from the
// opposite one, and the boxes received fill the layer without overlap.
func TestHalosFitTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 4)
		l, err := NewLayout(rapid.IntRange(1, 64).Draw(t, "ranks"),
			[3]int{side.Draw(t, "x"), side.Draw(t, "y"), side.Draw(t, "z")})
		require.NoError(t, err)
		halos := make([]*halo, l.Size())
		for rank := range halos {
			halos[rank] = newHalo(nil, l, rank)
		}
		for rank, h := range halos {
			seen := newField(l.Local)
			for _, ln := range h.links {
				found := false
				for _, back := range halos[ln.rank].links {
					if back.rank == rank && back.recvTag == ln.sendTag {
						found = true
						require.Len(t, back.recv, len(ln.send))
					}
				}
				require.True(t, found, "rank %d expects nothing from %d with tag %d", ln.rank, rank, ln.sendTag)
				for i := range ln.recv {
					ln.recv[i] = 1
				}
				before := sum(seen.val)
				seen.unpack(ln.recv, ln.recvBox)
				require.Equal(t, before+float64(len(ln.recv)), sum(seen.val), "boxes overlap")
			}
		}
	})
}

func sum(s []float64) (total float64) {
	for _, v := range s {
		total += v
	}
	return total
}

func TestIterationDoesNotAllocate(t *testing.T) {
	l := Layout{Local: [3]int{5, 6, 7}, Ranks: [3]int{3, 3, 3}}
	h := newHalo(nil, l, 13)
	require.Len(t, h.links, 26)
	s := newSolver(nil, l.Whole(), 0)
	f := newField(l.Local)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for i := range h.links {
			f.pack(h.links[i].send, h.links[i].sendBox)
			f.unpack(h.links[i].recv, h.links[i].recvBox)
		}
		_ = s.p.apply(s.q, s.sums)
		_ = s.p.step(s.x, s.r, s.q, 0.5)
		s.p.direct(s.r, 0.5)
	}))
}

func TestParseGrid(t *testing.T) {
	for text, want := range map[string][3]int{"1": {1, 1, 1}, "48": {48, 48, 48}, "4x5x6": {4, 5, 6}} {
		got, err := ParseGrid(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "x", "0", "-3", "4x5", "4x5x6x7", "4x5x", "1e3", "4097", "9999999999999999999"} {
		_, err := ParseGrid(text)
		require.ErrorIs(t, err, ErrGrid, "%q", text)
	}
	_, err := NewLayout(4, [3]int{1, 0, 1})
	require.ErrorIs(t, err, ErrGrid)
	_, err = NewLayout(0, [3]int{1, 1, 1})
	require.ErrorIs(t, err, ErrGrid)
	_, err = NewLayout(4, [3]int{4096, 4096, 4096})
	require.ErrorIs(t, err, ErrGrid)
	_, err = NewLayout(4, [3]int{512, 512, 256})
	require.NoError(t, err)
}

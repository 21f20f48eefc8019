package topo

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func grids() *rapid.Generator[*Cart] {
	return rapid.Custom(func(t *rapid.T) *Cart {
		dims := rapid.SliceOfN(rapid.IntRange(1, 5), 0, 4).Draw(t, "dims")
		periods := rapid.SliceOfN(rapid.Bool(), len(dims), len(dims)).Draw(t, "periods")
		c, err := NewCart(dims, periods, 1000)
		require.NoError(t, err)
		return c
	})
}

func TestCoordinatesAndRanksAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := grids().Draw(t, "grid")
		seen := make([][]int, 0, c.Size())
		for r := range c.Size() {
			at, err := c.Coords(r)
			require.NoError(t, err)
			back, err := c.Rank(at)
			require.NoError(t, err)
			require.Equal(t, r, back)
			seen = append(seen, at)
		}
		require.True(t, slices.IsSortedFunc(seen, slices.Compare), "row by row")
	})
}

// The neighbour by coordinates is the neighbour by arithmetic.
func TestShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := grids().Filter(func(c *Cart) bool { return len(c.Dims) > 0 }).Draw(t, "grid")
		rank := rapid.IntRange(0, c.Size()-1).Draw(t, "rank")
		dim := rapid.IntRange(0, len(c.Dims)-1).Draw(t, "dim")
		disp := rapid.IntRange(-12, 12).Draw(t, "disp")
		source, dest, err := c.Shift(rank, dim, disp)
		require.NoError(t, err)
		for _, s := range []struct{ got, disp int }{{dest, disp}, {source, -disp}} {
			at, _ := c.Coords(rank)
			at[dim] += s.disp
			want, err := c.Rank(at)
			if err != nil {
				want = None
			}
			require.Equal(t, want, s.got)
		}
		if dest != None { // who sends to me is whom I receive from
			back, _, err := c.Shift(dest, dim, disp)
			require.NoError(t, err)
			require.Equal(t, rank, back)
		}
		all, err := c.Neighbours(rank)
		require.NoError(t, err)
		before, behind, err := c.Shift(rank, dim, 1)
		require.NoError(t, err)
		require.Equal(t, []int{before, behind}, all[2*dim:2*dim+2])
	})
}

func TestSubGrids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := grids().Draw(t, "grid")
		keep := rapid.SliceOfN(rapid.Bool(), len(c.Dims), len(c.Dims)).Draw(t, "keep")
		sizes := make(map[int]int)
		for r := range c.Size() {
			sub, color, key, err := c.Sub(r, keep)
			require.NoError(t, err)
			require.Equal(t, sizes[color], key, "members keep their order")
			sizes[color]++
			at, _ := c.Coords(r)
			in, err := sub.Coords(key)
			require.NoError(t, err)
			var want []int
			for i, k := range keep {
				if k {
					want = append(want, at[i])
				}
			}
			require.Equal(t, len(want), len(in))
			require.Equal(t, append([]int{}, want...), in)
		}
		for _, n := range sizes {
			require.Equal(t, c.Size()/len(sizes), n)
		}
	})
}

// best tries every way to split n into k factors.
func best(n, k, most int) (spread int) {
	spread = math.MaxInt
	var try func(n, k, first, last int)
	try = func(n, k, first, last int) {
		if k == 0 {
			if n == 1 {
				spread = min(spread, first-last)
			}
			return
		}
		for d := 1; d <= last; d++ {
			if n%d == 0 {
				f := first
				if f == 0 {
					f = d
				}
				try(n/d, k-1, f, d)
			}
		}
	}
	try(n, k, 0, most)
	return spread
}

func TestDimsAreBalanced(t *testing.T) {
	for n := 1; n <= 200; n++ {
		for k := 1; k <= 4; k++ {
			d, err := Dims(n, make([]int, k))
			require.NoError(t, err)
			product := 1
			for _, x := range d {
				product *= x
			}
			require.Equal(t, n, product)
			require.True(t, slices.IsSortedFunc(d, func(a, b int) int { return b - a }), "%v", d)
			require.Equal(t, best(n, k, n), d[0]-d[k-1], "%d as %v", n, d)
		}
	}
}

func TestDims(t *testing.T) {
	for _, c := range []struct {
		n           int
		given, want []int
	}{
		{6, []int{0, 0}, []int{3, 2}},
		{7, []int{0, 0}, []int{7, 1}},
		{6, []int{0, 3, 0}, []int{2, 3, 1}},
		{12, []int{0, 0, 0}, []int{3, 2, 2}},
		{16, []int{0, 0, 0}, []int{4, 2, 2}},
		{4096, []int{0, 0, 0}, []int{16, 16, 16}},
		{1 << 30, []int{0, 0, 0, 0}, []int{256, 256, 128, 128}},
		{math.MaxInt32, []int{0, 0, 0}, []int{math.MaxInt32, 1, 1}},
		{735134400, make([]int, 6), []int{34, 33, 30, 30, 28, 26}}, // has 1344 divisors
		{1, nil, nil},
		{8, []int{2, 4}, []int{2, 4}},
	} {
		got, err := Dims(c.n, c.given)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for name, c := range map[string]struct {
		n     int
		given []int
	}{
		"no multiple":     {7, []int{2, 0}},
		"wrong product":   {8, []int{2, 2}},
		"negative":        {8, []int{-2, 0}},
		"no ranks":        {0, []int{0}},
		"nothing to fill": {2, nil},
	} {
		_, err := Dims(c.n, c.given)
		require.ErrorIs(t, err, ErrDims, name)
	}
}

func TestMistakes(t *testing.T) {
	c, err := NewCart([]int{2, 3}, []bool{false, true}, 6)
	require.NoError(t, err)
	for name, e := range map[string]struct{ err, want error }{
		"periods missing":    {last(NewCart([]int{2}, nil, 6)), ErrDims},
		"dimension 0":        {last(NewCart([]int{0}, []bool{true}, 6)), ErrDims},
		"too many ranks":     {last(NewCart([]int{3, 3}, []bool{true, true}, 8)), ErrDims},
		"overflow":           {last(NewCart([]int{1 << 40, 1 << 40}, []bool{true, true}, 8)), ErrDims},
		"rank":               {last(c.Coords(6)), ErrCoords},
		"coordinate":         {last(c.Rank([]int{2, 0})), ErrCoords},
		"coordinates":        {last(c.Rank([]int{0})), ErrCoords},
		"direction":          {shiftError(c, 0, 2), ErrCoords},
		"shift of no rank":   {shiftError(c, 6, 0), ErrCoords},
		"neighbours of none": {last(c.Neighbours(-1)), ErrCoords},
		"choices":            {subError(c, 0, []bool{true}), ErrDims},
		"sub of none":        {subError(c, 9, []bool{true, true}), ErrCoords},
		"index falls":        {last(NewGraph([]int{2, 1}, []int{0, 1}, 2)), ErrGraph},
		"edges left":         {last(NewGraph([]int{1, 1}, []int{0, 1}, 2)), ErrGraph},
		"edge to nowhere":    {last(NewGraph([]int{1, 2}, []int{0, 2}, 2)), ErrGraph},
		"too many nodes":     {last(NewGraph([]int{0, 0, 0}, nil, 2)), ErrGraph},
		"source":             {last(NewLocal(Local{Sources: []int{3}}, 3)), ErrGraph},
		"weights":            {last(NewLocal(Local{Dests: []int{1}, DestWeights: []int{1, 2}}, 3)), ErrGraph},
		"negative weight":    {last(NewLocal(Local{Dests: []int{1}, DestWeights: []int{-1}}, 3)), ErrGraph},
	} {
		require.ErrorIs(t, e.err, e.want, name)
	}
}

func last[T any](_ T, err error) error { return err }

func shiftError(c *Cart, rank, dim int) error {
	_, _, err := c.Shift(rank, dim, 1)
	return err
}

func subError(c *Cart, rank int, keep []bool) error {
	_, _, _, err := c.Sub(rank, keep)
	return err
}

func TestGraphs(t *testing.T) {
	// The example of the standard: 0-1, 0-3, 2-3.
	g, err := NewGraph([]int{2, 3, 4, 6}, []int{1, 3, 0, 3, 0, 2}, 5)
	require.NoError(t, err)
	require.Equal(t, 4, g.Size())
	for rank, want := range [][]int{{1, 3}, {0}, {3}, {0, 2}} {
		got, err := g.Neighbours(rank)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = g.Neighbours(4)
	require.ErrorIs(t, err, ErrGraph)

	l := FromEdges(1, []Edge{{0, 1, 5}, {1, 2, 6}, {1, 1, 7}, {2, 0, 8}}, true)
	require.Equal(t, &Local{Sources: []int{0, 1}, SourceWeights: []int{5, 7}, Dests: []int{2, 1},
		DestWeights: []int{6, 7}}, l)
	require.Nil(t, FromEdges(1, []Edge{{0, 1, 5}}, false).SourceWeights)
	l, err = NewLocal(*l, 3)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, l.Sources)
}

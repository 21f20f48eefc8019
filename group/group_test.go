package group

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// worlds draws lists of different ranks that are regular in parts.
func worlds() *rapid.Generator[[]int32] {
	return rapid.Custom(func(t *rapid.T) []int32 {
		var out []int32
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			first := rapid.Int32Range(0, 60).Draw(t, "first")
			stride := rapid.Int32Range(-5, 5).Filter(func(s int32) bool { return s != 0 }).Draw(t, "stride")
			for i := range rapid.Int32Range(1, 30).Draw(t, "n") {
				if w := first + i*stride; w >= 0 && !slices.Contains(out, w) {
					out = append(out, w)
				}
			}
		}
		return out
	})
}

func list(g *Group) []int32 { return slices.Collect(g.All()) }

func without(a, b []int32, in bool) []int32 {
	return slices.DeleteFunc(slices.Clone(a), func(w int32) bool { return slices.Contains(b, w) != in })
}

func TestLookUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := worlds().Draw(t, "worlds")
		g := Of(want)
		require.Equal(t, len(want), g.Size())
		require.Equal(t, want, list(g))
		find := g.finder()
		for w := int32(-3); w < 250; w++ {
			i := int32(slices.Index(want, w))
			require.Equal(t, i, g.Rank(w))
			require.Equal(t, i, find(w))
			if i >= 0 {
				require.Equal(t, w, g.World(i))
			}
		}
		for range g.All() {
			break // leaving early is allowed
		}
	})
}

func TestAlgebraAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := worlds().Draw(t, "a"), worlds().Draw(t, "b")
		g, h := Of(a), Of(b)
		require.Equal(t, append(slices.Clone(a), without(b, a, false)...), append([]int32(nil), list(Union(g, h))...))
		require.True(t, slices.Equal(without(a, b, true), list(Intersection(g, h))))
		require.True(t, slices.Equal(without(a, b, false), list(Difference(g, h))))

		sa, sb := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		want := Unequal
		if slices.Equal(a, b) {
			want = Ident
		} else if slices.Equal(sa, sb) {
			want = Similar
		}
		require.Equal(t, want, Compare(g, h))
		require.Equal(t, Ident, Compare(g, Of(a)))
		shuffled := rapid.Permutation(a).Draw(t, "shuffled")
		if !slices.Equal(shuffled, a) {
			require.Equal(t, Similar, Compare(g, Of(shuffled)))
		}
	})
}

func TestSelectionsAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := worlds().Filter(func(w []int32) bool { return len(w) > 0 }).Draw(t, "a")
		g := Of(a)
		ranks := rapid.SliceOfNDistinct(rapid.IntRange(0, len(a)-1), 0, len(a), rapid.ID[int]).Draw(t, "ranks")
		var in, out []int32
		for _, r := range ranks {
			in = append(in, a[r])
		}
		for i, w := range a {
			if !slices.Contains(ranks, i) {
				out = append(out, w)
			}
		}
		got, err := g.Incl(ranks)
		require.NoError(t, err)
		require.Equal(t, in, list(got))
		got, err = g.Excl(ranks)
		require.NoError(t, err)
		require.Equal(t, out, list(got))
		back, err := Translate(g, ranks, Of(in))
		require.NoError(t, err)
		for i := range ranks {
			require.Equal(t, int32(i), back[i])
		}

		r := Range{
			First:  rapid.IntRange(0, len(a)-1).Draw(t, "first"),
			Last:   rapid.IntRange(0, len(a)-1).Draw(t, "last"),
			Stride: rapid.IntRange(-4, 4).Filter(func(s int) bool { return s != 0 }).Draw(t, "stride"),
		}
		ranks = ranks[:0]
		for i := r.First; (r.Stride > 0 && i <= r.Last) || (r.Stride < 0 && i >= r.Last); i += r.Stride {
			ranks = append(ranks, i)
		}
		want, err := g.Incl(ranks)
		require.NoError(t, err)
		got, err = g.RangeIncl([]Range{r})
		require.NoError(t, err)
		require.Equal(t, list(want), list(got))
		want, err = g.Excl(ranks)
		require.NoError(t, err)
		got, err = g.RangeExcl([]Range{r})
		require.NoError(t, err)
		require.Equal(t, list(want), list(got))
	})
}

func TestMistakesInLists(t *testing.T) {
	g := Identity(10)
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"incl too large":  {second(g.Incl([]int{0, 10})), ErrRank},
		"incl negative":   {second(g.Incl([]int{-1})), ErrRank},
		"incl twice":      {second(g.Incl([]int{3, 4, 3})), ErrTwice},
		"excl twice":      {second(g.Excl([]int{3, 3})), ErrTwice},
		"stride 0":        {second(g.RangeIncl([]Range{{1, 3, 0}})), ErrStride},
		"range too large": {second(g.RangeIncl([]Range{{1, 1 << 40, 1}})), ErrRank},
		"ranges overlap":  {second(g.RangeExcl([]Range{{0, 5, 1}, {5, 6, 1}})), ErrTwice},
		"too many":        {second(g.RangeIncl([]Range{{0, 9, 1}, {0, 9, 1}})), ErrTwice},
		"empty group":     {second(Identity(0).Incl([]int{0})), ErrRank},
	} {
		require.ErrorIs(t, c.err, c.want, name)
	}
	_, err := Translate(g, []int{10}, g)
	require.ErrorIs(t, err, ErrRank)
	got, err := g.RangeIncl([]Range{{5, 3, 1}, {2, 2, -1}})
	require.NoError(t, err)
	require.Equal(t, []int32{2}, list(got), "a range that leads nowhere is empty")
}

func second(_ *Group, err error) error { return err }

func TestRegularGroupsHoldNoTable(t *testing.T) {
	world := Identity(4096)
	evens, err := world.RangeIncl([]Range{{0, 4094, 2}})
	require.NoError(t, err)
	rest, err := world.Excl([]int{17, 2000})
	require.NoError(t, err)
	odd := Difference(world, evens)
	for _, g := range []*Group{world, evens, rest, odd, Union(evens, odd), Intersection(rest, evens)} {
		require.Nil(t, g.table)
		require.LessOrEqual(t, len(g.runs), 5)
		require.True(t, g.Regular())
	}
	require.Equal(t, Similar, Compare(world, Union(evens, odd)))

	var squares []int
	for i := range 64 {
		squares = append(squares, i*i)
	}
	irregular, err := world.Incl(squares)
	require.NoError(t, err)
	require.False(t, irregular.Regular())
	require.Len(t, irregular.table, 64)
}

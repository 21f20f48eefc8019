package checking

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/datatype"
)

// randomType draws a type of a few basic elements, some of them nested.
func randomType(t *rapid.T, depth int) *datatype.Type {
	basics := []*datatype.Type{datatype.Int32, datatype.Uint32, datatype.Float64, datatype.Int8, datatype.DoubleInt}
	if depth == 0 || rapid.Bool().Draw(t, "basic") {
		return rapid.SampledFrom(basics).Draw(t, "type")
	}
	if rapid.Bool().Draw(t, "row") {
		row, err := datatype.Contiguous(rapid.IntRange(0, 4).Draw(t, "count"), randomType(t, depth-1))
		require.NoError(t, err)
		return row
	}
	a, b := randomType(t, depth-1), randomType(t, depth-1)
	s, err := datatype.Struct([]int{2, 1}, []int{0, 1 << 12}, []*datatype.Type{a, b})
	require.NoError(t, err)
	return s
}

// classes lists the elements of a type one by one, without a sign.
func classes(t *datatype.Type) (list []datatype.Kind) {
	t.Runs(func(k datatype.Kind, n int) {
		if k == datatype.KindUint32 {
			k = datatype.KindInt32
		}
		list = append(list, slices.Repeat([]datatype.Kind{k}, n)...)
	})
	return list
}

// Sequences match if and only if the elements are the same, one by one.
func TestSequencesAreThoseOfTheElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := randomType(t, 3), randomType(t, 3)
		n, m := rapid.IntRange(0, 5).Draw(t, "n"), rapid.IntRange(0, 5).Draw(t, "m")
		x, y := slices.Repeat(classes(a), n), slices.Repeat(classes(b), m)
		require.Len(t, x, n*a.Elements())
		require.Equal(t, slices.Equal(x, y), Of(a, n).Matches(Of(b, m)))
		some := rapid.IntRange(0, len(x)).Draw(t, "some")
		require.Equal(t, some <= len(y) && slices.Equal(x[:some], y[:min(some, len(y))]),
			len(y) >= some && First(a, some).Matches(First(b, some)))
	})
}

func TestBytesMatchEverything(t *testing.T) {
	require.True(t, Of(datatype.Byte, 8).Matches(Of(datatype.Float64, 1)))
	require.False(t, Of(datatype.Uint8, 8).Matches(Of(datatype.Float64, 1)))
}

// A card arrives as it was written, but for texts that are too long.
func TestCardsTravel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string, most int) string {
			return rapid.StringOfN(rapid.RuneFrom([]rune("abc 0")), 0, most, -1).Draw(t, name)
		}
		c := Card{Call: text("call", 20), Site: text("site", 80), Data: text("data", 30), Op: text("op", 20),
			Sequence: Sequence{rapid.Uint64().Draw(t, "sum"), rapid.IntRange(0, 1<<40).Draw(t, "n"),
				rapid.Bool().Draw(t, "any")},
			Bytes: rapid.IntRange(-1, 1<<40).Draw(t, "bytes"), Root: rapid.IntRange(-1, 9).Draw(t, "root")}
		b := make([]byte, CardSize)
		c.Write(b)
		require.Equal(t, c, ReadCard(b))
	})
	long := Card{Call: strings.Repeat("x", 500), Site: strings.Repeat("y", 500)}
	b := make([]byte, CardSize+1)
	long.Write(b)
	require.Equal(t, strings.Repeat("x", CardSize-1-fixed), ReadCard(b).Call)
	require.Zero(t, b[CardSize])
}

func TestRanksAreNamedShortly(t *testing.T) {
	require.Equal(t, "rank 3", Ranks([]int{3}))
	require.Equal(t, "ranks 0-2, 4, 6-7", Ranks([]int{0, 1, 2, 4, 6, 7}))
}

// Compare names all who make the same call together.
func TestCompareGroupsTheRanks(t *testing.T) {
	a, b := Card{Call: "Bcast", Root: 0}, Card{Call: "Bcast", Root: 1}
	require.Empty(t, Compare([]Card{a, a, a}))
	require.Equal(t, "different roots: ranks 0, 2: Bcast, root 0; rank 1: Bcast, root 1", Compare([]Card{a, b, a}))
}

// A conflict is found exactly where a byte has two users, one of which writes.
func TestSpansConflictWhereBytesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Spans
		type use struct{ read, write int }
		memory := make(map[uint64]use)
		var added []*Span
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if len(added) > 0 && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				i := rapid.IntRange(0, len(added)-1).Draw(t, "which")
				l.Remove(added[i])
				for _, at := range bytesOf(added[i]) {
					u := memory[at]
					if added[i].Write {
						u.write--
					} else {
						u.read--
					}
					memory[at] = u
				}
				added = slices.Delete(added, i, i+1)
				continue
			}
			stride := rapid.IntRange(1, 4).Draw(t, "stride")
			v, err := datatype.Vector(rapid.IntRange(0, 4).Draw(t, "count"), 1, stride, datatype.Int8)
			require.NoError(t, err)
			s := SpanOf(datatype.View{Count: 1, Type: v}, uint64(rapid.IntRange(100, 120).Draw(t, "at")),
				rapid.Bool().Draw(t, "write"), nil)
			conflict := false
			for _, at := range bytesOf(s) {
				conflict = conflict || memory[at].write > 0 || s.Write && memory[at].read > 0
			}
			require.Equal(t, conflict, l.Conflict(s) != nil)
			if conflict {
				continue
			}
			l.Add(s)
			added = append(added, s)
			for _, at := range bytesOf(s) {
				u := memory[at]
				if s.Write {
					u.write++
				} else {
					u.read++
				}
				memory[at] = u
			}
		}
	})
}

func bytesOf(s *Span) (list []uint64) {
	for _, p := range s.pieces() {
		for at := p[0]; at < p[1]; at++ {
			list = append(list, at)
		}
	}
	return list
}

// The ranks of a knot are those that no order of events frees, as a search by hand finds.
func TestKnotIsWhatNothingFrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "ranks")
		ranks := make([][]Wait, n)
		for i := range ranks {
			for range rapid.IntRange(0, 2).Draw(t, "waits") {
				var w Wait
				for range rapid.IntRange(1, 2).Draw(t, "needs") {
					w.Needs = append(w.Needs, rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 3).Draw(t, "need"))
				}
				ranks[i] = append(ranks[i], w)
			}
		}
		free := make([]bool, n)
		for range n { // each round frees who can go on
			for i, waits := range ranks {
				can := len(waits) == 0
				for _, w := range waits {
					met := true
					for _, need := range w.Needs {
						one := false
						for _, r := range need {
							one = one || r != i && free[r]
						}
						met = met && one
					}
					can = can || met
				}
				free[i] = free[i] || can
			}
		}
		var stuck []int
		for i := range free {
			if !free[i] {
				stuck = append(stuck, i)
			}
		}
		require.Equal(t, stuck, Knot(ranks))
		if stuck != nil {
			require.Contains(t, Cycle(ranks, stuck), "waits in")
		}
	})
}

// A cycle is told in its order, then who waits for it.
func TestCycleIsToldInItsOrder(t *testing.T) {
	on := func(text string, ranks ...int) []Wait { return []Wait{{Text: text, Needs: [][]int{ranks}}} }
	ranks := [][]Wait{on("A", 2), nil, on("B", 3), on("C", 0), on("D", 0)}
	require.Equal(t, []int{0, 2, 3, 4}, Knot(ranks))
	require.Equal(t, "rank 0 waits in A; rank 2 waits in B; rank 3 waits in C; rank 4 in D",
		Cycle(ranks, []int{0, 2, 3, 4}))
	require.Empty(t, Knot([][]Wait{on("A", 1), nil}))
	require.Empty(t, Knot([][]Wait{on("any", 1, 2), on("B", 0), nil}))
	require.Equal(t, []int{0, 1}, Knot([][]Wait{{{Text: "all", Needs: [][]int{{1}, {2}}}}, on("B", 0), nil}))
}

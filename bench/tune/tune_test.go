package tune_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/tune"
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/mpi"
)

// figures makes up the times of a collective's algorithms.
func figures(op coll.Collective, ranks int, sizes []int, time func(algorithm string, size int) float64) *tune.Figures {
	f := &tune.Figures{Collective: op.String(), Ranks: ranks}
	for _, a := range coll.Algorithms(op) {
		if a.Name == coll.Leaders {
			continue
		}
		c := tune.Curve{Algorithm: a.Name}
		for _, size := range sizes {
			c.Rows = append(c.Rows, bench.Row{Size: size, Value: time(a.Name, size)})
		}
		f.Curves = append(f.Curves, c)
	}
	return f
}

func text(rows []tune.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, strings.Join(strings.Fields(r.String()), " "))
	}
	return b.String()
}

func TestNoRowsWhereTheBuiltInTableIsAsGood(t *testing.T) {
	sizes := []int{8, 64 << 10, 1 << 20}
	same := func(string, int) float64 { return 1 }
	little := func(algorithm string, _ int) float64 {
		return map[bool]float64{true: 0.95, false: 1}[algorithm == "tree"]
	}
	for _, time := range []func(string, int) float64{same, little} {
		require.Empty(t, tune.Choose([]*tune.Figures{figures(coll.Allreduce, 2, sizes, time),
			figures(coll.Barrier, 4, []int{0}, time)}))
	}
}

// Nor where the faster one is so in some rounds only.
func TestNoRowsOfNoise(t *testing.T) {
	f := figures(coll.Barrier, 4, []int{0}, func(algorithm string, _ int) float64 {
		return map[bool]float64{true: 1, false: 2}[algorithm == "tree"]
	})
	rounds := func(algorithm int, us ...float64) { f.Curves[algorithm].Rows[0].Repeats = us }
	for i := range f.Curves {
		rounds(i, 2, 2, 2, 2, 2)
	}
	rounds(1, 1, 1, 3, 1, 1)
	require.Equal(t, "barrier any 4 tree\n", text(tune.Choose([]*tune.Figures{f})))
	rounds(1, 1, 1, 3, 3, 1)
	require.Empty(t, tune.Choose([]*tune.Figures{f}))
}

func TestRowsOfWhatIsFaster(t *testing.T) {
	sizes := []int{8, 1024, 65536, 1 << 20}
	// Messages by binomial are the faster ones in the middle; of the others scatter_ring up to 1 KiB.
	bcast := func(algorithm string, size int) float64 {
		switch {
		case algorithm == "binomial" && size == 65536, algorithm == coll.Shared && size != 65536:
			return 1
		case algorithm == "scatter_ring" && size <= 1024:
			return 2
		}
		return 4
	}
	same := func(string, int) float64 { return 1 }
	// Between two sizes the built-in table decides where a row ends.
	want := "bcast 32768 4 shared\nbcast 32768 4 scatter_ring\nbcast 65536 4 binomial\nbcast 1048576 4 shared\nbcast " +
		"1048576 4 binomial\n"
	rows := tune.Choose([]*tune.Figures{figures(coll.Bcast, 4, sizes, bcast)})
	require.Equal(t, want, text(rows))
	require.InDelta(t, 1, rows[0].Ratio, 1e-9, "as it is built in")
	require.InDelta(t, 0.5, rows[1].Ratio, 1e-9)
	require.InDelta(t, 0.25, rows[2].Ratio, 1e-9)

	// A row is for fewer ranks as well, so those that were measured have their own.
	rows = tune.Choose([]*tune.Figures{figures(coll.Bcast, 4, sizes, bcast), figures(coll.Bcast, 8, sizes, same),
		figures(coll.Bcast, 2, sizes, same)})
	require.Equal(t, "bcast 32768 2 shared\nbcast 1048576 2 binomial\n", text(rows[:2]))
	require.Equal(t, want, text(rows[2:]))

	// The table counts the blocks of all ranks together; where ranks know no size, one
	// algorithm is for all.
	rows = tune.Choose([]*tune.Figures{
		figures(coll.Allgatherv, 4, []int{8, 1024, 4096}, func(a string, size int) float64 {
			return map[bool]float64{true: 1, false: 2}[(a == "ring") == (size <= 1024)]
		}),
		figures(coll.Alltoallv, 4, []int{8, 1024, 4096}, func(a string, size int) float64 {
			return map[bool]float64{true: 1, false: 3}[(a == "pairwise") == (size <= 1024)]
		}),
	})
	require.Equal(t, "allgatherv 4096 4 ring\nallgatherv 16384 4 shared\nallgatherv 16384 4 bruck\nalltoallv any 4 "+
		"pairwise\n", text(rows))
}

// Of made-up figures, the table has for each size an algorithm that is as good as the
// best, but for the noise that is allowed for.
func TestTheTableHasTheFastest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "table")
	sizes := []int{8, 2047, 2048, 32 << 10, 64 << 10, 300 << 10}
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]coll.Collective{coll.Bcast, coll.Allreduce, coll.Reduce}).Draw(t, "op")
		var all []*tune.Figures
		for _, ranks := range []int{2, 4} {
			all = append(all, figures(op, ranks, sizes, func(string, int) float64 {
				return float64(rapid.IntRange(10, 20).Draw(t, "time"))
			}))
		}
		rows := tune.Choose(all)
		require.NoError(t, os.WriteFile(name, []byte(text(rows)), 0o600))
		s, err := coll.NewSelection("@" + name)
		require.NoError(t, err)
		for _, f := range all {
			for i, size := range sizes {
				c := &coll.Call{Op: op, Ranks: f.Ranks, Elem: 1, Commute: true, Recv: make([]byte, size), InPlace: true}
				picked := s.Pick(c).Name
				if ok, direct := s.Shared(c); direct {
					picked = coll.Direct
				} else if ok {
					picked = coll.Shared
				}
				best, mine := 1e9, 0.0
				for _, curve := range f.Curves {
					best = min(best, curve.Rows[i].Value)
					if curve.Algorithm == picked {
						mine = curve.Rows[i].Value
					}
				}
				require.LessOrEqual(t, 0.9*mine, best, "%v of %d bytes, %d ranks", op, size, f.Ranks)
			}
		}
	})
}

// Every algorithm that there is takes its turn.
func TestMeasure(t *testing.T) {
	require.Contains(t, tune.Collectives(), "barrier")
	require.NotContains(t, tune.Collectives(), "neighbor_allgather", "there is one algorithm")
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		for _, name := range tune.Collectives() {
			f, err := tune.Measure(c, name, bench.Sweep{Sizes: []int{1000, 16, 16}, Repeat: 2, Iterations: 2})
			if err != nil {
				return err
			}
			if c.Rank() != 0 {
				require.Empty(t, f.Curves[0].Rows)
				continue
			}
			require.Equal(t, 3, f.Ranks)
			require.Greater(t, len(f.Curves), 1)
			for _, curve := range f.Curves {
				sizes := []int{16, 1000}
				if name == "barrier" {
					sizes = []int{0}
				}
				require.Len(t, curve.Rows, len(sizes), name)
				for i, r := range curve.Rows {
					require.Equal(t, sizes[i], r.Size)
					require.Len(t, r.Repeats, 2)
					require.Positive(t, slices.Min(r.Repeats))
				}
			}
		}
		_, err := tune.Measure(c, "neighbor_allgather", bench.Sweep{})
		require.ErrorContains(t, err, "neighbor_allgather")
		return nil
	}))
}

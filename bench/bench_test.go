package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestParseSizes(t *testing.T) {
	for text, want := range map[string][]int{
		"8":        {8},
		"1:8":      {1, 2, 4, 8},
		"0:5":      {0, 1, 2, 4},
		"3:24":     {3, 6, 12, 24},
		"4:4":      {4},
		"7,0,4096": {7, 0, 4096},
		"0:0":      {0},
	} {
		got, err := ParseSizes(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	full, err := ParseSizes("1:4194304")
	require.NoError(t, err)
	require.Len(t, full, 23)
	for _, text := range []string{"", ":", "1:", ":8", "8:1", "1:2:3", "1,", ",1", "-1", "+1", "1:-8", "1k", "1 ",
		"1073741825", "99999999999999999999"} {
		_, err := ParseSizes(text)
		require.ErrorIs(t, err, ErrSizes, "%q", text)
	}
}

// Whatever is accepted is a list of sizes within the limit that begins with
// the first number of the text.
func FuzzParseSizes(f *testing.F) {
	for _, seed := range []string{"1:4194304", "0:8", "1,2,3", "", "8:1", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := ParseSizes(text)
		if err != nil {
			require.ErrorIs(t, err, ErrSizes)
			return
		}
		require.NotEmpty(t, sizes)
		for _, n := range sizes {
			require.GreaterOrEqual(t, n, 0)
			require.LessOrEqual(t, n, largestSize)
		}
	})
}

func TestParsedListIsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.IntRange(0, largestSize), 1, 8).Draw(t, "sizes")
		text := ""
		for i, n := range want {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprint(n)
		}
		got, err := ParseSizes(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestMedian(t *testing.T) {
	require.Zero(t, Median(nil))
	require.Equal(t, 3.0, Median([]float64{3}))
	require.Equal(t, 2.5, Median([]float64{4, 1, 2, 3}))
	v := []float64{9, 1, 5}
	require.Equal(t, 5.0, Median(v))
	require.Equal(t, []float64{9, 1, 5}, v, "the argument must stay as it is")
}

func TestCounts(t *testing.T) {
	small, large := counts{10000, 100}, counts{1000, 10}
	require.Equal(t, small, Sweep{Warmup: -1}.counts(8192, small, large))
	require.Equal(t, large, Sweep{Warmup: -1}.counts(8193, small, large))
	require.Equal(t, counts{7, 100}, Sweep{Iterations: 7, Warmup: -1}.counts(1, small, large))
	require.Equal(t, counts{1000, 0}, Sweep{}.counts(1<<20, small, large))
}

// first runs f on n in-process ranks and returns what it returned on rank 0;
// on the others it must return nothing.
func first[T any](t *testing.T, n int, f func(*mpi.Comm) ([]T, error)) []T {
	t.Helper()
	var rows []T
	require.NoError(t, mpi.Run(n, func(world *mpi.Comm) error {
		r, err := f(world)
		switch {
		case err != nil:
			return err
		case world.Rank() == 0:
			rows = r
		case r != nil:
			return fmt.Errorf("rank %d got %v", world.Rank(), r)
		}
		return nil
	}))
	return rows
}

func TestLatencyAndBandwidthMeasureEverySize(t *testing.T) {
	t.Parallel()
	sweep := Sweep{Sizes: []int{0, 1, 64, 5000, 100_000}, Iterations: 3, Warmup: 1, Repeat: 3, Settle: time.Millisecond}
	for name, run := range map[string]func(*mpi.Comm, Sweep) ([]Row, error){
		"latency": Latency, "bw": Bandwidth, "bibw": BothWays, "multi_lat": MultiLatency,
		"mbw_mr": func(c *mpi.Comm, s Sweep) ([]Row, error) {
			columns, err := MessageRate(c, s)
			if columns == nil {
				return nil, err
			}
			return columns[1].Rows, err
		},
	} {
		sweep := sweep
		if name != "latency" && name != "multi_lat" {
			sweep.Sizes = []int{0, 1, 64, 5000, longInWindow}
		}
		for _, ranks := range []int{2, 3, 4} {
			if ranks == 3 && (name == "multi_lat" || name == "mbw_mr") {
				continue // TestPairsNeedTwoRanks
			}
			rows := first(t, ranks, func(c *mpi.Comm) ([]Row, error) { return run(c, sweep) })
			require.Len(t, rows, len(sweep.Sizes))
			for i, r := range rows {
				require.Equal(t, sweep.Sizes[i], r.Size)
				require.Len(t, r.Repeats, 3)
				require.Equal(t, Median(r.Repeats), r.Value)
				require.False(t, math.IsNaN(r.Value) || math.IsInf(r.Value, 0))
				if name != "bw" && name != "bibw" || r.Size > 0 {
					require.Positive(t, r.Value, "%s of %d bytes, %d ranks", name, r.Size, ranks)
				}
			}
		}
	}
}

func TestCollectivesMeasureEverySize(t *testing.T) {
	sweep := Sweep{Sizes: []int{0, 4, 5000, 100_000}, Iterations: 3, Warmup: 1, Repeat: 3}
	check := func(rows []Row) {
		require.Len(t, rows, len(sweep.Sizes))
		for i, r := range rows {
			require.Equal(t, sweep.Sizes[i], r.Size)
			require.Len(t, r.Repeats, 3)
			require.Equal(t, Median(r.Repeats), r.Value)
			require.Positive(t, r.Value)
		}
	}
	for _, name := range Collectives() {
		check(first(t, 3, func(c *mpi.Comm) ([]Row, error) { return Collective(c, name, sweep) }))
	}
	columns := first(t, 3, func(c *mpi.Comm) ([]Column, error) { return Overlap(c, sweep) })
	require.Len(t, columns, 3)
	for _, c := range columns {
		check(c.Rows)
	}
	require.Error(t, mpi.Run(1, func(c *mpi.Comm) error { _, err := Collective(c, "nonsense", sweep); return err }))
}

func TestPairsNeedTwoRanks(t *testing.T) {
	sweep := Sweep{Sizes: []int{1}, Repeat: 1}
	for _, run := range []func(*mpi.Comm) error{
		func(c *mpi.Comm) error { _, err := Latency(c, sweep); return err },
		func(c *mpi.Comm) error { _, err := Bandwidth(c, sweep); return err },
		func(c *mpi.Comm) error { _, err := Idle(c, 0); return err },
	} {
		require.ErrorIs(t, mpi.Run(1, run), mpi.ErrRank)
	}
	for _, run := range []func(*mpi.Comm) error{
		func(c *mpi.Comm) error { _, err := MultiLatency(c, sweep); return err },
		func(c *mpi.Comm) error { _, err := MessageRate(c, sweep); return err },
	} {
		require.ErrorIs(t, mpi.Run(3, run), mpi.ErrRank)
	}
}

func TestBarrierOfAnyNumberOfRanks(t *testing.T) {
	t.Parallel()
	for _, ranks := range []int{1, 2, 7} {
		rows := first(t, ranks, func(c *mpi.Comm) ([]Row, error) {
			row, err := Barrier(c, Sweep{Iterations: 10, Warmup: 2, Repeat: 2})
			if c.Rank() != 0 {
				return nil, err
			}
			return []Row{row}, err
		})
		require.Equal(t, ranks, rows[0].Size)
		require.Len(t, rows[0].Repeats, 2)
		require.Positive(t, rows[0].Value)
	}
}

func TestIdleWaitsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	lines := first(t, 3, func(c *mpi.Comm) ([]Blocked, error) { return Idle(c, 50*time.Millisecond) })
	require.Len(t, lines, 3)
	for i, call := range []string{"Recv", "Probe", "Barrier"} {
		require.Equal(t, call, lines[i].Call)
		require.Greater(t, lines[i].Wall, 40.0)
		require.GreaterOrEqual(t, lines[i].CPU, 0.0)
	}
}

// The messages go over a connection between the ends, and those in between wait.
func TestOverTCPAlone(t *testing.T) {
	sweep := Sweep{Sizes: []int{0, 8, 100_000}, Iterations: 3, Repeat: 2, TCP: true}
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		_, err := sweep.sweep(c, ends, func(p *pair, _ int) (float64, error) {
			if p.tcp == nil {
				return 0, errors.New("MPI carries the messages")
			}
			return 0, nil
		})
		return err
	}))
	for _, measure := range []func(*mpi.Comm, Sweep) ([]Row, error){Latency, Bandwidth} {
		require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
			rows, err := measure(c, sweep)
			if c.Rank() == 0 && err == nil {
				require.Len(t, rows, 3)
				require.Positive(t, rows[1].Value)
				require.Positive(t, rows[2].Value)
			}
			return err
		}))
	}
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		p, err := ends(c)
		if err != nil {
			return err
		}
		if err := p.connect(); err != nil {
			return err
		}
		defer p.tcp.close()
		b := []byte{1, 2, 3}
		if p.first {
			return p.give(b)
		}
		got := make([]byte, 3)
		if err := p.tcp.recv(got); err != nil {
			return err
		}
		require.Equal(t, b, got)
		require.ErrorIs(t, p.take(got), io.ErrUnexpectedEOF, "the other end has closed it")
		return nil
	}))
}

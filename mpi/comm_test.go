package mpi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// sum checks that all ranks of a communicator, and only they, can reduce on it.
func sum(c *mpi.Comm, mine, want int) error {
	got := []int{0}
	if err := mpi.Allreduce(c, []int{mine}, got, mpi.Sum); err != nil {
		return err
	}
	if got[0] != want {
		return fmt.Errorf("rank %d of %d: sum is %d, not %d", c.Rank(), c.Size(), got[0], want)
	}
	return nil
}

// onEveryProtocol runs a program under each protocol.
func onEveryProtocol(t *testing.T, n int, program func(c *mpi.Comm) error) {
	t.Helper()
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(n, program, mpi.WithVariant(variant)))
		})
	}
}

func TestDupIsAWorldOfItsOwn(t *testing.T) {
	onEveryProtocol(t, 3, func(c *mpi.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		next, prev := (c.Rank()+1)%3, (c.Rank()+2)%3
		// What is sent on one communicator first is received on it last.
		for i, on := range []*mpi.Comm{c, d} {
			if err := mpi.Send(on, []int{i}, next, 5); err != nil {
				return err
			}
		}
		for i, on := range []*mpi.Comm{d, c} {
			got := []int{0}
			if _, err := mpi.Recv(on, got, prev, 5); err != nil {
				return err
			}
			require.Equal(t, 1-i, got[0])
		}
		r, err := c.Compare(d)
		require.NoError(t, err)
		require.Equal(t, mpi.Congruent, r)
		r, err = d.Compare(d)
		require.NoError(t, err)
		require.Equal(t, mpi.Ident, r)
		return d.Free()
	})
}

func TestSplitByColourAndKey(t *testing.T) {
	onEveryProtocol(t, 5, func(c *mpi.Comm) error {
		color := c.Rank() % 2
		if c.Rank() == 4 {
			color = mpi.Undefined
		}
		s, err := c.Split(color, -c.Rank())
		if err != nil {
			return err
		}
		if c.Rank() == 4 {
			require.Nil(t, s)
			return nil
		}
		require.Equal(t, 2, s.Size())
		require.Equal(t, 1-c.Rank()/2, s.Rank(), "larger ranks have smaller keys")
		want := 2
		if color == 1 {
			want = 4
		}
		if err := sum(s, c.Rank(), want); err != nil {
			return err
		}
		r, err := s.Compare(c)
		require.NoError(t, err)
		require.Equal(t, mpi.Unequal, r)
		world, err := s.Group().Translate([]int{0, 1, mpi.ProcNull}, c.Group())
		require.NoError(t, err)
		require.Equal(t, []int{2 + color, color, mpi.ProcNull}, world)
		return s.Free()
	})
}

func TestSplitIntoManyAndBack(t *testing.T) {
	const n = 64
	require.NoError(t, mpi.Run(n, func(c *mpi.Comm) error {
		for _, width := range []int{1, 2, 7, 8, 33, n} {
			s, err := c.Split(c.Rank()/width, 0)
			if err != nil {
				return err
			}
			first := c.Rank() / width * width
			want := 0
			for r := first; r < min(first+width, n); r++ {
				want += r
			}
			if err := sum(s, c.Rank(), want); err != nil {
				return err
			}
			// A part of the part, in reverse.
			p, err := s.Split(s.Rank()%2, -s.Rank())
			if err != nil {
				return err
			}
			if err := sum(p, 1, p.Size()); err != nil {
				return err
			}
			r, err := p.Split(0, p.Size()-p.Rank())
			if err != nil {
				return err
			}
			if want := p.Size() - 1 - p.Rank(); r.Rank() != want {
				return fmt.Errorf("rank %d instead of %d", r.Rank(), want)
			}
			for _, x := range []*mpi.Comm{s, r, p} {
				if err := x.Free(); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func TestSplitTypeShared(t *testing.T) {
	require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
		s, err := c.SplitType(mpi.SplitShared, -c.Rank())
		if err != nil {
			return err
		}
		require.Equal(t, 4, s.Size())
		require.Equal(t, 3-c.Rank(), s.Rank())
		r, err := s.Compare(c)
		require.NoError(t, err)
		require.Equal(t, mpi.Similar, r)
		kind := mpi.SplitShared
		if c.Rank() == 2 {
			kind = mpi.Undefined
		}
		s, err = c.SplitType(kind, 0)
		require.NoError(t, err)
		require.Equal(t, c.Rank() == 2, s == nil)
		_, err = c.SplitType(77, 0)
		require.ErrorIs(t, err, mpi.ErrArg)
		return nil
	}))
}

func TestCreateOfDisjointGroups(t *testing.T) {
	onEveryProtocol(t, 5, func(c *mpi.Comm) error {
		ranks := []int{3, 1}
		if c.Rank()%2 == 0 {
			ranks = []int{0, 4} // rank 2 is in neither
		}
		g, err := c.Group().Incl(ranks...)
		if err != nil {
			return err
		}
		s, err := c.Create(g)
		if err != nil {
			return err
		}
		if c.Rank() == 2 {
			require.Nil(t, s)
			return nil
		}
		require.Equal(t, g.Rank(), s.Rank())
		return sum(s, c.Rank(), 4)
	})
}

// Only the members call CreateGroup, several goroutines of them at once.
func TestCreateGroupFromManyGoroutines(t *testing.T) {
	onEveryProtocol(t, 4, func(c *mpi.Comm) error {
		errs := make(chan error)
		calls := 0
		for tag, ranks := range [][]int{{0, 1}, {1, 2, 3}, {3, 0}, {2, 1}, {0, 1, 2, 3}} {
			g, err := c.Group().Incl(ranks...)
			if err != nil {
				return err
			}
			if g.Rank() == mpi.Undefined {
				continue
			}
			calls++
			go func() {
				errs <- func() error {
					for range 20 {
						s, err := c.CreateGroup(g, tag)
						if err != nil {
							return err
						}
						if err := sum(s, 1<<tag, g.Size()<<tag); err != nil {
							return err
						}
						if err := s.Free(); err != nil {
							return err
						}
					}
					return nil
				}()
			}()
		}
		var first error
		for range calls {
			first = errors.Join(first, <-errs)
		}
		return first
	})
}

func TestFreedCommunicators(t *testing.T) {
	onEveryProtocol(t, 2, func(c *mpi.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		// What is pending completes.
		peer := 1 - c.Rank()
		in, out := make([]byte, 100_000), pattern(100_000, c.Rank())
		q, err := mpi.Irecv(d, in, peer, 3)
		if err != nil {
			return err
		}
		s, err := mpi.Isend(d, out, peer, 3)
		if err != nil {
			return err
		}
		var again []*mpi.Request // persistent
		for _, f := range []func() (*mpi.Request, error){
			func() (*mpi.Request, error) { return mpi.SendInit(d, out, peer, 4) },
			d.BarrierInit,
		} {
			p, err := f()
			if err != nil {
				return err
			}
			again = append(again, p)
		}
		b, err := d.Ibarrier()
		if err != nil {
			return err
		}
		require.NoError(t, d.Free())
		require.NoError(t, mpi.WaitAll(b, q, s))
		require.Equal(t, pattern(100_000, peer), in)
		for _, p := range again {
			require.ErrorIs(t, p.Start(), mpi.ErrComm)
		}
		_, err = d.Ibarrier()
		require.ErrorIs(t, err, mpi.ErrComm)
		_, err = mpi.Irecv(d, in, peer, 3)
		require.ErrorIs(t, err, mpi.ErrComm)
		_, _, err = d.Iprobe(peer, 3)
		require.ErrorIs(t, err, mpi.ErrComm)

		require.ErrorIs(t, d.Free(), mpi.ErrComm)
		require.ErrorIs(t, mpi.Send(d, out, peer, 0), mpi.ErrComm)
		require.ErrorIs(t, d.Barrier(), mpi.ErrComm)
		_, err = d.Dup()
		require.ErrorIs(t, err, mpi.ErrComm)
		require.ErrorContains(t, err, "freed")
		_, err = d.Split(0, 0)
		require.ErrorIs(t, err, mpi.ErrComm)
		_, err = d.Compare(c)
		require.ErrorIs(t, err, mpi.ErrComm)
		require.Nil(t, d.Group())
		require.Nil(t, d.Self())

		require.ErrorIs(t, c.Free(), mpi.ErrComm, "the world stays")
		require.ErrorIs(t, c.Self().Free(), mpi.ErrComm)
		left, err := c.Dup() // is alive at Finalize
		if err != nil {
			return err
		}
		return left.Barrier()
	})
}

func TestSelf(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		s := c.Self()
		require.Equal(t, 1, s.Size())
		require.Same(t, s, s.Self())
		require.Equal(t, "MPI_COMM_SELF", s.Name())
		if err := mpi.Send(s, []int{c.Rank()}, 0, 1); err != nil {
			return err
		}
		got := []int{-1}
		if _, err := mpi.Recv(s, got, 0, 1); err != nil {
			return err
		}
		require.Equal(t, c.Rank(), got[0])
		d, err := s.Dup()
		if err != nil {
			return err
		}
		if err := sum(d, 7, 7); err != nil {
			return err
		}
		return d.Free()
	}))
}

func TestMistakesWithGroups(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		g := c.Group()
		one, err := g.Incl(1)
		require.NoError(t, err)
		self := c.Self()
		for name, call := range map[string]struct {
			f    func() error
			want error
			text string
		}{
			"rank":  {func() error { _, err := g.Incl(2); return err }, mpi.ErrRank, "0 to 1"},
			"twice": {func() error { _, err := g.Excl(1, 1); return err }, mpi.ErrRank, "once"},
			"stride": {func() error { _, err := g.RangeIncl(mpi.Range{Last: 1}); return err }, mpi.ErrArg,
				"stride"},
			"translate":     {func() error { _, err := g.Translate([]int{5}, one); return err }, mpi.ErrRank, "5 of 2"},
			"nil group":     {func() error { _, err := g.Union(nil); return err }, mpi.ErrGroup, "nil"},
			"not in parent": {func() error { _, err := self.Create(g); return err }, mpi.ErrGroup, "members"},
			"create of nil": {func() error { _, err := c.Create(nil); return err }, mpi.ErrGroup, "nil"},
			"tag":           {func() error { _, err := c.CreateGroup(one, -1); return err }, mpi.ErrTag, "tags are 0"},
			"merge": {func() error { _, err := c.Merge(true); return err }, mpi.ErrComm,
				"no intercommunicator"},
			"remote group": {func() error { _, err := c.RemoteGroup(); return err }, mpi.ErrComm,
				"no intercommunicator"},
			"nil comm": {func() error { _, err := (*mpi.Comm)(nil).Split(0, 0); return err }, mpi.ErrComm, "Init"},
		} {
			err := call.f()
			require.ErrorIs(t, err, call.want, name)
			require.ErrorContains(t, err, call.text, name)
		}
		// A mistake of one rank is an error on all: none waits for it.
		_, err = c.Split(-1-c.Rank()*(mpi.Undefined+1)*-1, 0)
		require.ErrorIs(t, err, mpi.ErrArg)
		return nil
	}))
}

func TestGroupMethods(t *testing.T) {
	require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
		g := c.Group()
		even, err := g.RangeIncl(mpi.Range{First: 2, Last: 0, Stride: -2})
		require.NoError(t, err)
		rest, err := g.Difference(even)
		require.NoError(t, err)
		all, err := even.Union(rest)
		require.NoError(t, err)
		none, err := even.Intersection(rest)
		require.NoError(t, err)
		not, err := g.RangeExcl(mpi.Range{First: 0, Last: 2, Stride: 2})
		require.NoError(t, err)
		require.Equal(t, mpi.Ident, not.Compare(rest))
		require.Equal(t, mpi.Similar, all.Compare(g))
		require.Equal(t, mpi.Unequal, even.Compare(rest))
		require.Equal(t, mpi.Unequal, even.Compare(nil))
		require.Zero(t, none.Size())
		want := []int{1, mpi.Undefined, 0, mpi.Undefined}[c.Rank()]
		require.Equal(t, want, even.Rank())
		s, err := c.Create(none)
		require.NoError(t, err)
		require.Nil(t, s)
		return nil
	}))
}

func TestTheMakingOfCommunicatorsIsCounted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EXANET_STATS", dir)
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		for _, f := range []func() (*mpi.Comm, error){
			c.Dup, c.Dup,
			func() (*mpi.Comm, error) { return c.Split(0, 0) },
			func() (*mpi.Comm, error) { return c.Create(c.Group()) },
			func() (*mpi.Comm, error) { return c.Cart([]int{2}, []bool{true}, true) },
			func() (*mpi.Comm, error) { return c.Self().InterCreate(0, c, 1-c.Rank(), 0) },
		} {
			if _, err := f(); err != nil {
				return err
			}
		}
		return nil
	}))
	text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
	require.NoError(t, err)
	var stats mpi.Stats
	require.NoError(t, json.Unmarshal(text, &stats))
	for name, n := range map[string]uint64{"Dup": 2, "Split": 1, "Create": 1, "Cart": 1, "InterCreate": 1} {
		require.Contains(t, stats.Calls, name)
		require.Equal(t, n, stats.Calls[name].N, name)
	}
}

// What cannot be written is an error at the beginning, where nothing is lost.
func TestStatisticsThatCannotBeWritten(t *testing.T) {
	t.Setenv("EXANET_STATS", filepath.Join(os.DevNull, "stats"))
	err := mpi.Run(2, func(*mpi.Comm) error { return nil })
	require.ErrorIs(t, err, mpi.ErrInit)
	require.ErrorIs(t, err, mpi.ErrStats)
	require.ErrorContains(t, err, "EXANET_STATS")
}

// What cannot be written at the end is said in one line, does not spoil the job, and
// leaves nothing half-written.
func TestStatisticsThatCannotBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		why   string
	}{
		"the directory vanishes": {os.RemoveAll, "no such file or directory"},
		"the name is taken": {func(dir string) error { return os.Mkdir(filepath.Join(dir, "rank-0.json"), 0o777) },
			"is there, and no file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "stats")
			t.Setenv("EXANET_STATS", dir)
			said, err := os.Create(filepath.Join(t.TempDir(), "said"))
			require.NoError(t, err)
			defer said.Close()
			stderr := os.Stderr
			os.Stderr = said
			err = mpi.Run(1, func(*mpi.Comm) error { return c.spoil(dir) })
			os.Stderr = stderr
			require.NoError(t, err)
			text, err := os.ReadFile(said.Name())
			require.NoError(t, err)
			require.Regexp(t, "^exanet: rank 0: .*EXANET_STATS: "+dir+"/rank-0.json.* "+c.why+"\n$", string(text))
			files, _ := filepath.Glob(filepath.Join(dir, "rank-0.json.*"))
			require.Empty(t, files)
		})
	}
}

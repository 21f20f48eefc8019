package mpi_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// twoGroups makes an intercommunicator of the first ranks of c and the others.
// The leaders are the last of the first group and the first of the second.
func twoGroups(c *mpi.Comm, first int) (half, inter *mpi.Comm, err error) {
	color, leader, remote := 0, first-1, first
	if c.Rank() >= first {
		color, leader, remote = 1, 0, first-1
	}
	if half, err = c.Split(color, 0); err != nil {
		return nil, nil, err
	}
	inter, err = half.InterCreate(leader, c, remote, 12)
	return half, inter, err
}

func TestIntercommunicators(t *testing.T) {
	onEveryProtocol(t, 5, func(c *mpi.Comm) error {
		half, inter, err := twoGroups(c, 2)
		if err != nil {
			return err
		}
		low := c.Rank() < 2
		sizes := map[bool]int{true: 2, false: 3}
		require.True(t, inter.IsInter())
		require.False(t, half.IsInter())
		require.Equal(t, sizes[low], inter.Size())
		require.Equal(t, sizes[!low], inter.RemoteSize())
		require.Zero(t, half.RemoteSize())
		require.Equal(t, half.Rank(), inter.Rank())
		theirs, err := inter.RemoteGroup()
		require.NoError(t, err)
		all, err := inter.Group().Union(theirs)
		require.NoError(t, err)
		if low {
			require.Equal(t, mpi.Ident, all.Compare(c.Group()))
		} else {
			require.Equal(t, mpi.Similar, all.Compare(c.Group()))
		}

		d, err := inter.Dup()
		if err != nil {
			return err
		}
		r, err := d.Compare(inter)
		require.NoError(t, err)
		require.Equal(t, mpi.Congruent, r)
		r, err = d.Compare(c)
		require.NoError(t, err)
		require.Equal(t, mpi.Unequal, r)
		for _, x := range []*mpi.Comm{inter, d} {
			if err := everyPair(x, c.Rank()); err != nil {
				return err
			}
		}

		// Both orders, and the order by rank where neither is high.
		for _, order := range []struct {
			low, high bool
			first     bool // the lower group
		}{{true, false, false}, {false, true, true}, {false, false, true}, {true, true, true}} {
			high := order.high
			if low {
				high = order.low
			}
			m, err := inter.Merge(high)
			if err != nil {
				return err
			}
			want := c.Rank()
			if !order.first {
				want = (c.Rank() + 3) % 5
			}
			if m.Rank() != want || m.Size() != 5 || m.IsInter() {
				return fmt.Errorf("%+v: rank %d of %d", order, m.Rank(), m.Size())
			}
			if err := sum(m, c.Rank(), 10); err != nil {
				return err
			}
			if err := m.Free(); err != nil {
				return err
			}
		}

		err = mpi.Send(inter, []int{1}, inter.RemoteSize(), 0)
		require.ErrorIs(t, err, mpi.ErrRank)
		for name, call := range map[string]func() error{
			"Split":       func() error { _, err := inter.Split(0, 0); return err },
			"Create":      func() error { _, err := inter.Create(inter.Group()); return err },
			"Cart":        func() error { _, err := inter.Cart(nil, nil, false); return err },
			"InterCreate": func() error { _, err := inter.InterCreate(0, c, 0, 0); return err },
		} {
			require.ErrorIs(t, call(), mpi.ErrComm, name)
			require.ErrorContains(t, call(), "intercommunicators", name)
		}
		if err := d.Free(); err != nil {
			return err
		}
		require.ErrorIs(t, mpi.Send(d, []int{1}, 0, 0), mpi.ErrComm)
		return inter.Free()
	})
}

// everyPair sends a short and a long message to each rank of the other group.
func everyPair(c *mpi.Comm, me int) error {
	const long = 5000
	type pair struct{ in [2][]int }
	got := make([]pair, c.RemoteSize())
	var reqs []*mpi.Request
	for r := range got {
		got[r].in = [2][]int{make([]int, 1), make([]int, long)}
		for tag, in := range got[r].in {
			q, err := mpi.Irecv(c, in, r, tag)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
		for tag, n := range []int{1, long} {
			out := make([]int, n)
			out[n-1] = 100*me + tag
			q, err := mpi.Isend(c, out, r, tag)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
	}
	if err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	theirs, err := c.RemoteGroup()
	if err != nil {
		return err
	}
	for r := range got {
		// The world's ranks are those of the job.
		world := 0
		if c.Rank() == me { // of the lower group
			world = 2
		}
		if a, b := got[r].in[0][0], got[r].in[1][long-1]; a != 100*(world+r) || b != a+1 {
			return fmt.Errorf("rank %d of %d others: got %d and %d", r, theirs.Size(), a, b)
		}
	}
	return nil
}

func TestGroupsOfAnIntercommunicatorMustDiffer(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		for name, call := range map[string]struct {
			err  error
			want error
		}{
			"tag":            {second(c.Self().InterCreate(0, c, (c.Rank()+1)%3, -1)), mpi.ErrTag},
			"remote is me":   {second(c.Self().InterCreate(0, c, c.Rank(), 0)), mpi.ErrRank},
			"no such remote": {second(c.Self().InterCreate(0, c, 3, 0)), mpi.ErrRank},
			"no such leader": {second(c.Self().InterCreate(1, c, 2, 0)), mpi.ErrRank},
			"no bridge":      {second(c.Self().InterCreate(0, nil, 2, 0)), mpi.ErrComm},
		} {
			require.ErrorIs(t, call.err, call.want, name)
		}
		// Rank 2 is in both groups, and calls for both.
		var sides []*mpi.Comm
		for first := range 2 {
			g, err := c.Group().Incl(first, 2)
			require.NoError(t, err)
			side, err := c.Create(g)
			if err != nil {
				return err
			}
			if side != nil {
				sides = append(sides, side)
			}
		}
		errs := make(chan error)
		for _, side := range sides {
			go func() { errs <- second(side.InterCreate(0, c, 1-c.Rank(), 1)) }()
		}
		for range sides {
			want := mpi.ErrGroup
			if c.Rank() == 2 {
				want = mpi.ErrArg // its leaders know better
			}
			require.ErrorIs(t, <-errs, want)
		}
		return nil
	}))
}

func second(_ *mpi.Comm, err error) error { return err }

package mpi

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

func TestARankLeadsOnlySoMany(t *testing.T) {
	require.NoError(t, Run(3, func(c *Comm) error {
		if c.Rank() == 1 {
			exhaust(c, 0)
		}
		d, err := c.Dup() // rank 0 leads
		require.NoError(t, err)
		s, err := d.Split(0, (c.Rank()+2)%3) // every rank proposes
		require.ErrorIs(t, err, ErrTooMany)
		require.Nil(t, s)
		g, err := d.Group().Incl(1, 2)
		require.NoError(t, err)
		s, err = d.Create(g) // rank 1 leads
		if d.Rank() > 0 {
			require.ErrorIs(t, err, ErrTooMany)
		}
		require.Nil(t, s)
		return d.Barrier()
	}))
}

// The tree of a team brings everything everywhere, for any size and root.
func TestTeams(t *testing.T) {
	for n := 1; n <= 9; n++ {
		require.NoError(t, Run(n, func(c *Comm) error {
			for root := range n {
				team := c.everybody("test", root)
				all, err := team.Everyone([]int64{int64(c.Rank()), 7}, nil)
				if err != nil {
					return err
				}
				var want []int64
				for i := range n {
					want = append(want, int64((i+root)%n), 7)
				}
				require.Equal(t, want, all)
				var mine error
				if c.Rank() == n-1 {
					mine = c.fail("test", noValue, noValue, noValue, ErrArg, "")
				}
				_, err = team.Everyone([]int64{1}, mine)
				require.ErrorIs(t, err, ErrArg)
			}
			return nil
		}))
	}
}

func TestADuplicateSharesTheGroup(t *testing.T) {
	require.NoError(t, Run(4, func(c *Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		require.Same(t, c.members, d.members)
		require.Same(t, c.members, d.p2p.Group)
		return nil
	}))
}

// exhaust has a rank use up all its IDs but so many, and returns how many were left.
func exhaust(c *Comm, left int) (before int) {
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	var taken []commid.ID
	for {
		d, err := c.rank.idents.Take(commid.WithArea, commid.WithoutArea)
		if err != nil {
			break
		}
		taken = append(taken, d)
	}
	for _, d := range taken[:min(left, len(taken))] {
		c.rank.idents.Return(d)
	}
	return len(taken)
}

// A leader that can not lead says so to the other group, and no ID is lost.
func TestALeaderThatCanNotLead(t *testing.T) {
	require.NoError(t, Run(4, func(c *Comm) error {
		half, err := c.Split(c.Rank()/2, 0)
		if err != nil {
			return err
		}
		other := 2 - c.Rank()/2*2
		inter, err := half.InterCreate(0, c, other, 0)
		if err != nil {
			return err
		}
		before := exhaust(c, math.MaxInt)
		for _, left := range []int{1, 0} { // whether the group can agree on the hidden communicator
			if c.Rank() == 2 {
				exhaust(c, left)
			}
			for _, call := range []struct {
				name string
				f    func() (*Comm, error)
				fine bool
			}{
				{"InterCreate", func() (*Comm, error) { return half.InterCreate(0, c, other, 0) }, false},
				{"Dup", inter.Dup, false},
				{"Merge", func() (*Comm, error) { return inter.Merge(c.Rank() < 2) }, left == 1},
				{"Idup", func() (*Comm, error) {
					d, q, err := half.Idup()
					if err == nil {
						_, err = q.Wait()
					}
					return d, err
				}, left == 1 || c.Rank() < 2},
			} {
				d, err := call.f()
				if call.fine && err == nil {
					err = d.Free()
				}
				if call.fine != (err == nil) || !call.fine && !errors.Is(err, ErrTooMany) {
					return fmt.Errorf("%s with %d left: %v", call.name, left, err)
				}
				if err := c.Barrier(); err != nil {
					return err
				}
			}
		}
		if after := exhaust(c, math.MaxInt); c.Rank() < 2 && after != before {
			return fmt.Errorf("%d IDs left, then %d", before, after)
		}
		return c.Barrier()
	}))
}

package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Idents in use are different, as are all that a rank has ever given out but
// the unused ones, and a rank needs no more slots than it uses at a time.
func TestIdentsAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSupply(77, func(int) bool { return true })
		var live []ident
		used := map[ident]bool{newIdent(77, worldSlot, 0): true, newIdent(77, selfSlot, 0): true}
		most := 0
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			i := rapid.IntRange(-3, len(live)-1).Draw(t, "which")
			if i < 0 {
				d, err := s.take()
				require.NoError(t, err)
				require.False(t, used[d])
				require.Equal(t, 77, d.leader())
				require.Equal(t, d, identOf(d.word()))
				require.Zero(t, d.number&1)
				used[d] = true
				live = append(live, d)
				most = max(most, len(live))
				continue
			}
			if rapid.Bool().Draw(t, "unused") {
				s.unused(live[i])
				delete(used, live[i])
			} else {
				s.release(live[i])
			}
			live = slices.Delete(live, i, i+1)
		}
		require.Equal(t, most+2, len(s.gens))
	})
}

func TestASlotWhoseGenerationsAreUsedUpIsNotUsedAgain(t *testing.T) {
	s := newSupply(1, func(int) bool { return true })
	d, err := s.take()
	require.NoError(t, err)
	s.gens[d.slot()] = generations - 1
	d.gen = generations - 1
	s.release(d)
	e, err := s.take()
	require.NoError(t, err)
	require.NotEqual(t, d.slot(), e.slot())
}

func TestARankLeadsOnlySoMany(t *testing.T) {
	require.NoError(t, Run(3, func(c *Comm) error {
		if c.Rank() == 1 {
			c.rank.idents.gens = make([]uint32, slots)
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
				all, err := team.everyone([]int64{int64(c.Rank()), 7}, nil)
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
				_, err = team.everyone([]int64{1}, mine)
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

// leads is the number of idents of this rank that are in use.
func leads(c *Comm) int {
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	return len(c.rank.idents.gens) - selfSlot - 1 - len(c.rank.idents.free)
}

// A leader that can not lead says so to the other group, and no ident is lost.
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
		before := leads(c)
		for left := range 2 { // whether the group can agree on the hidden communicator
			if s := &c.rank.idents; c.Rank() == 2 {
				s.gens, s.free = append(s.gens, make([]uint32, slots-len(s.gens))...), nil
				for i := range left {
					s.free = append(s.free, slots-1-i)
				}
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
		if after := leads(c); c.Rank() < 2 && after != before {
			return fmt.Errorf("%d idents in use, then %d", before, after)
		}
		return c.Barrier()
	}))
}

package mpi

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Idents in use are different, as are all that a rank has ever given out but
// the unused ones, and a rank needs no more slots than it uses at a time.
func TestIdentsAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSupply(77)
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
	s := newSupply(1)
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

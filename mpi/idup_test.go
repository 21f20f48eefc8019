package mpi_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Many duplications at once, among other non-blocking collectives and before
// blocking ones, completed in any order.
func TestDuplicationsInFlight(t *testing.T) {
	onEveryProtocol(t, 5, func(c *mpi.Comm) error {
		for round := range 10 {
			const n = 20
			var dups []*mpi.Comm
			var reqs []*mpi.Request
			sums := make([][]int, n)
			for i := range n {
				d, q, err := c.Idup()
				if err != nil {
					return err
				}
				dups, reqs = append(dups, d), append(reqs, q)
				sums[i] = []int{0}
				if q, err = mpi.Iallreduce(c, []int{i}, sums[i], mpi.Sum); err != nil {
					return err
				}
				reqs = append(reqs, q)
			}
			blocking, err := c.Dup()
			if err != nil {
				return err
			}
			for i := range reqs { // every rank in an order of its own
				j := (i*7 + c.Rank()*3) % len(reqs)
				if _, err := reqs[j].Wait(); err != nil {
					return err
				}
			}
			for i, d := range append(dups, blocking) {
				if err := sum(d, round+i, 5*(round+i)); err != nil {
					return err
				}
				if err := d.Free(); err != nil {
					return err
				}
			}
			for i := range sums {
				require.Equal(t, 5*i, sums[i][0])
			}
		}
		return nil
	})
}

func TestIdupCopiesWhatDupDoes(t *testing.T) {
	no := errors.New("no")
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		grid, err := c.Cart([]int{2}, []bool{true}, false)
		if err != nil {
			return err
		}
		key := mpi.NewKeyval(mpi.CopyAlways, nil)
		require.NoError(t, grid.SetAttr(key, "value"))
		d, q, err := grid.Idup()
		if err != nil {
			return err
		}
		require.ErrorIs(t, d.SetName("too early"), mpi.ErrComm)
		require.NoError(t, grid.Free(), "it is not in use any more")
		if _, err := q.Wait(); err != nil {
			return err
		}
		v, _, err := d.Attr(key)
		require.NoError(t, err)
		require.Equal(t, "value", v)
		require.Equal(t, mpi.CartTopology, d.Topology())

		stubborn := mpi.NewKeyval(func(*mpi.Comm, any) (any, bool, error) { return nil, false, no }, nil)
		if c.Rank() == 1 {
			require.NoError(t, d.SetAttr(stubborn, 1))
		}
		e, q, err := d.Idup()
		require.NoError(t, err)
		_, err = q.Wait()
		if c.Rank() == 1 {
			require.ErrorIs(t, err, no)
			require.ErrorIs(t, e.SetName("x"), mpi.ErrComm)
		} else {
			require.ErrorIs(t, err, mpi.ErrArg, "nobody has one")
			require.ErrorIs(t, e.SetName("x"), mpi.ErrComm)
		}
		return d.Barrier()
	}))
}

func TestIdupWithADeadRank(t *testing.T) {
	gone := errors.New("gone")
	for _, victim := range []int{0, 1, 4} {
		failed := make([]bool, 6)
		err := mpi.Run(6, func(c *mpi.Comm) error {
			color := 0
			if c.Rank() == victim {
				color = mpi.Undefined
			}
			living, err := c.Split(color, 0)
			if err != nil {
				return err
			}
			if c.Rank() == victim {
				return gone
			}
			d, q, err := c.Idup()
			if err != nil {
				return err
			}
			if _, err = q.Wait(); err != nil {
				failed[c.Rank()] = true
				require.ErrorIs(t, err, mpi.ErrProcFailed)
			} else {
				require.NoError(t, d.Free())
			}
			return living.Barrier()
		})
		require.ErrorIs(t, err, gone)
		require.Contains(t, failed, true)
	}
}

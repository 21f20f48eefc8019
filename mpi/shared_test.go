package mpi_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// sumOf checks an Allreduce and a Barrier on a communicator.
func sumOf(c *mpi.Comm) error {
	in, out := []int{c.Rank() + 1}, []int{0}
	if err := mpi.Allreduce(c, in, out, mpi.Sum); err != nil {
		return err
	}
	if want := c.Size() * (c.Size() + 1) / 2; out[0] != want {
		return fmt.Errorf("sum %d, not %d", out[0], want)
	}
	return c.Barrier()
}

// A rank leads more communicators than it has areas for, and again when they have been
// freed, by some ranks later than by others.
func TestMoreCommunicatorsThanBoards(t *testing.T) {
	for _, p := range []int{2, 5} {
		require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
			for range 3 {
				var all []*mpi.Comm
				for range 40 {
					d, err := c.Dup()
					if err != nil {
						return err
					}
					all = append(all, d)
				}
				for _, d := range all {
					if err := sumOf(d); err != nil {
						return err
					}
				}
				for i := range all {
					if i%2 == 0 { // so that one is freed while others are made
						if err := all[(i+c.Rank())%len(all)].Free(); err != nil {
							return err
						}
						all[(i+c.Rank())%len(all)] = nil
					}
				}
				half, err := c.Split(c.Rank()%2, 0)
				if err != nil {
					return err
				}
				if err := errors.Join(sumOf(half), half.Free()); err != nil {
					return err
				}
				for _, d := range all {
					if d != nil {
						if err := d.Free(); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}))
	}
}

// Goroutines wait in different areas at once, beside messages.
func TestBoardsFromManyGoroutines(t *testing.T) {
	const p, workers, rounds = 3, 4, 50
	require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
		comms := make([]*mpi.Comm, workers)
		for i := range comms {
			var err error
			if comms[i], err = c.Dup(); err != nil {
				return err
			}
		}
		errs := make([]error, workers+1)
		var wg sync.WaitGroup
		for i, d := range comms {
			wg.Go(func() {
				for range rounds {
					if errs[i] = sumOf(d); errs[i] != nil {
						return
					}
				}
			})
		}
		wg.Go(func() {
			next, last, in := (c.Rank()+1)%p, (c.Rank()+p-1)%p, make([]int, 2000)
			for range rounds {
				if _, errs[workers] = mpi.Sendrecv(c, make([]int, 2000), next, 1, in, last, 1); errs[workers] != nil {
					return
				}
			}
		})
		wg.Wait()
		return errors.Join(errs...)
	}))
}

// In the direct form a rank may use its buffer again when the call has ended, and not
// before all have read it; one that dies keeps nobody waiting.
func TestDirectCollectives(t *testing.T) {
	gone := errors.New("gone")
	const p, n = 4, 20_000
	err := mpi.Run(p, func(c *mpi.Comm) error {
		mine, all := make([]int32, n), make([]int32, n*p)
		for round := range 200 {
			for i := range mine {
				mine[i] = int32(round<<8 | c.Rank())
			}
			if err := mpi.Allgather(c, mine, all); err != nil {
				return err
			}
			for i, got := range all {
				if want := int32(round<<8 | i/n); got != want {
					return fmt.Errorf("round %d, element %d: %x, not %x", round, i, got, want)
				}
			}
			if root := round % p; c.Rank() == root {
				if err := mpi.Bcast(c, mine, root); err != nil {
					return err
				}
				clear(mine)
			} else if err := mpi.Bcast(c, all[:n], root); err != nil {
				return err
			} else if all[0] != int32(round<<8|root) || all[n-1] != all[0] {
				return fmt.Errorf("round %d: %x and %x from rank %d", round, all[0], all[n-1], root)
			}
		}
		if c.Rank() == p-1 {
			return gone
		}
		for range 3 {
			require.ErrorIs(t, mpi.Allgather(c, mine, all), mpi.ErrProcFailed)
			require.ErrorIs(t, mpi.Bcast(c, mine, 0), mpi.ErrProcFailed)
		}
		return nil
	}, mpi.WithCollectives("bcast:direct,allgather:direct"))
	require.ErrorIs(t, err, gone)
	require.NotErrorIs(t, err, mpi.ErrProcFailed)
}

// A rank dies while others are in an area with it: all who wait there fail, and so do
// their later calls there, but not those in an area without it.
func TestADeadRankOnABoard(t *testing.T) {
	gone := errors.New("gone")
	for _, p := range []int{3, 9} {
		err := mpi.Run(p, func(c *mpi.Comm) error {
			living, err := c.Split(min(c.Rank(), 1), 0)
			if err != nil {
				return err
			}
			if err := sumOf(c); err != nil {
				return err
			}
			if c.Rank() == 0 {
				return gone
			}
			for range 3 {
				require.ErrorIs(t, sumOf(c), mpi.ErrProcFailed)
				if err := sumOf(living); err != nil {
					return err
				}
			}
			return living.Barrier()
		})
		require.ErrorIs(t, err, gone)
		require.NotErrorIs(t, err, mpi.ErrProcFailed)
	}
}

package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Rank 1 posts receives of all sizes, rank 0 sends them in another order; take
// ends them in whatever order it likes and tells which.
func inAnyOrder(t *testing.T, take func(reqs []*mpi.Request) ([]mpi.Completion, error)) {
	t.Helper()
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		n := len(sizes)
		reqs := make([]*mpi.Request, n+1) // a nil among them
		bufs := make([][]byte, n)
		for i, size := range sizes {
			var err error
			if c.Rank() == 1 {
				bufs[i] = make([]byte, size)
				reqs[i], err = mpi.Irecv(c, bufs[i], 0, i)
			} else {
				j := i * 5 % n
				reqs[i], err = mpi.Isend(c, pattern(sizes[j], j), 1, j)
			}
			if err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			return mpi.WaitAll(reqs...)
		}
		seen := make([]bool, n)
		for left := n; left > 0; {
			done, err := take(reqs)
			if err != nil {
				return err
			}
			for _, d := range done {
				if seen[d.Index] {
					return fmt.Errorf("request %d has completed twice", d.Index)
				}
				seen[d.Index] = true
				left--
				if d.Err != nil || d.Status.Tag != d.Index || d.Status.Bytes() != sizes[d.Index] ||
					string(bufs[d.Index]) != string(pattern(sizes[d.Index], d.Index)) {
					return fmt.Errorf("request %d: %+v or its data wrong", d.Index, d)
				}
			}
		}
		// None is active now.
		if done, err := take(reqs); err != nil || len(done) > 0 && done[0].Index != -1 {
			return fmt.Errorf("no active request: %+v %w", done, err)
		}
		return nil
	}))
}

func one(index int, st mpi.Status, err error) ([]mpi.Completion, error) {
	return []mpi.Completion{{Index: index, Status: st}}, err
}

func TestWaitingForAnyOfSeveral(t *testing.T) {
	t.Run("WaitAny", func(t *testing.T) {
		inAnyOrder(t, func(reqs []*mpi.Request) ([]mpi.Completion, error) { return one(mpi.WaitAny(reqs...)) })
	})
	t.Run("WaitSome", func(t *testing.T) {
		inAnyOrder(t, func(reqs []*mpi.Request) ([]mpi.Completion, error) { return mpi.WaitSome(nil, reqs...) })
	})
	t.Run("TestSome", func(t *testing.T) {
		inAnyOrder(t, func(reqs []*mpi.Request) ([]mpi.Completion, error) { return mpi.TestSome(nil, reqs...) })
	})
	t.Run("TestAny", func(t *testing.T) {
		inAnyOrder(t, func(reqs []*mpi.Request) ([]mpi.Completion, error) {
			index, done, st, err := mpi.TestAny(reqs...)
			if !done {
				return nil, err
			}
			return one(index, st, err)
		})
	})
	t.Run("TestAll", func(t *testing.T) {
		inAnyOrder(t, func(reqs []*mpi.Request) ([]mpi.Completion, error) {
			idle := reqs[0] != nil && func() bool {
				done, st := reqs[0].Status()
				return done &&
					st.Source == mpi.AnySource
			}()
			done, _, err := mpi.TestAllStatus(nil, reqs...)
			if idle || len(done) == 0 {
				return nil, err
			}
			return done[:len(sizes)], err // without the nil
		})
	})
}

// A request that is taken from one rank to another is an error, not a deadlock.
func TestRequestsOfDifferentRanks(t *testing.T) {
	theirs := make(chan *mpi.Request, 2)
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		mine, err := mpi.Irecv(c, make([]int, 1), 1-c.Rank(), 1)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			theirs <- mine
			if err := c.Barrier(); err != nil {
				return err
			}
		} else {
			reqs := []*mpi.Request{nil, mine, <-theirs}
			_, _, errAny := mpi.WaitAny(reqs...)
			_, errSome := mpi.TestSome(nil, reqs...)
			for _, err := range []error{errAny, errSome, mpi.WaitAll(reqs[2], mine)} {
				if !errors.Is(err, mpi.ErrRequest) {
					return fmt.Errorf("want an error, got %v", err)
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		if err := mpi.Send(c, []int{1}, 1-c.Rank(), 1); err != nil {
			return err
		}
		_, err = mine.Wait()
		return err
	}))
}

func TestAbandonedWaits(t *testing.T) {
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				peer := 1 - c.Rank()
				for _, n := range []int{8, 100000} {
					in := make([]byte, n)
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					q, err := mpi.Irecv(c, in, peer, 1)
					if err != nil {
						cancel()
						return err
					}
					st, err := q.WaitContext(ctx)
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) || !st.Cancelled() {
						return fmt.Errorf("%d bytes: %+v %v", n, st, err)
					}
					if err := c.Barrier(); err != nil {
						return err
					}
					// What comes now goes to the next receive, whose context
					// ends too late.
					ctx, cancel = context.WithCancel(context.Background())
					s, err := mpi.Isend(c, pattern(n, 3), peer, 1)
					if err != nil {
						cancel()
						return err
					}
					if _, err = mpi.RecvContext(ctx, c, in, peer, 1); err != nil ||
						string(in) != string(pattern(n, 3)) {
						cancel()
						return fmt.Errorf("%d bytes: %w", n, err)
					}
					cancel()
					if _, err := s.WaitContext(context.Background()); err != nil {
						return err
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

//go:build !readbased && !rtr && !envless && !ticket && !customized && !standing

package mpi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func runOptimistic(n int, rank func(c *mpi.Comm) error) error {
	return mpi.Run(n, rank, mpi.WithVariant("optimistic"))
}

func TestOptimisticRefusesWhatItCannotDo(t *testing.T) {
	require.NoError(t, runOptimistic(2, func(c *mpi.Comm) error {
		_, err := mpi.Recv(c, make([]byte, 1), mpi.AnySource, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		require.ErrorContains(t, err, "use ticket")
		// The call that begins it says so: who waits may wait for more.
		_, err = mpi.Irecv(c, make([]byte, 1), mpi.AnySource, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		_, err = mpi.RecvInit(c, make([]byte, 1), mpi.AnySource, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		_, err = c.Probe(0, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		_, _, err = c.Iprobe(0, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		return c.Barrier()
	}))
}

// Each case breaks the assumption that short meets short and long meets long;
// both ranks' outcomes must come by themselves, at least one as an error.
func TestOptimisticDiagnosesMismatches(t *testing.T) {
	short, long := 8, 100_000
	for _, c := range []struct {
		name       string
		send, recv int
		late       int // rank that comes 300 ms later; -1: none
		any        bool
	}{
		{"short send, long receive", short, long, -1, false},
		{"short send, long receive, sender late", short, long, 0, false},
		{"short send, long receive, receiver late", short, long, 1, false},
		{"long send, short receive", long, short, -1, false},
		{"long send, short receive, sender late", long, short, 0, false},
		{"long send, short receive, receiver late", long, short, 1, false},
		{"short send, long receive of any tag", short, long, -1, true},
		{"long send, short receive of any tag", long, short, -1, true},
		{"long send, short receive of any tag, sender late", long, short, 0, true},
		{"long send, short receive of any tag, receiver late", long, short, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome := make(chan [2]error, 1)
			go func() {
				var errs [2]error
				_ = runOptimistic(2, func(w *mpi.Comm) error {
					if w.Rank() == c.late {
						time.Sleep(300 * time.Millisecond)
					}
					if w.Rank() == 0 {
						errs[0] = mpi.Send(w, make([]byte, c.send), 1, 4)
					} else {
						tag := 4
						if c.any {
							tag = mpi.AnyTag
						}
						_, errs[1] = mpi.Recv(w, make([]byte, c.recv), 0, tag)
					}
					return nil
				})
				outcome <- errs
			}()
			select {
			case errs := <-outcome:
				require.ErrorIs(t, errors.Join(errs[:]...), mpi.ErrAssumption)
				require.ErrorIs(t, errs[1], mpi.ErrAssumption, "the receiver at least has nothing")
			case <-time.After(time.Minute):
				t.Fatal("it hangs")
			}
		})
	}
}

// A legal program that is slow, and one in which a short message finds only a
// long receive while its own receive is still to come.
func TestOptimisticAccusesNobodyWhoIsSlow(t *testing.T) {
	require.NoError(t, runOptimistic(2, func(c *mpi.Comm) error {
		long, short := make([]byte, 100_000), make([]byte, 8)
		if c.Rank() == 0 {
			q, err := mpi.Isend(c, long, 1, 1)
			if err != nil {
				return err
			}
			if err := mpi.Send(c, short, 1, 1); err != nil {
				return err
			}
			if _, err := q.Wait(); err != nil { // longer than any doubt
				return err
			}
			_, err = mpi.Recv(c, short, 1, 2)
			return err
		}
		time.Sleep(700 * time.Millisecond)
		if _, err := mpi.Recv(c, long, 0, 1); err != nil {
			return err
		}
		if _, err := mpi.Recv(c, short, 0, 1); err != nil {
			return err
		}
		time.Sleep(700 * time.Millisecond)
		return mpi.Send(c, short, 0, 2)
	}))
}

package mpi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// When the context of Run ends, Run says what each rank waits for, and nothing hangs.
func TestRunEndsWithItsContext(t *testing.T) {
	why := errors.New("on purpose")
	ctx, cancel := context.WithCancelCause(t.Context())
	reached := make(chan int)
	go func() {
		for range 4 {
			<-reached
		}
		time.Sleep(500 * time.Millisecond) // until they wait, also on a busy machine
		cancel(why)
	}()
	err := mpi.Run(4, func(w *mpi.Comm) error {
		reached <- w.Rank()
		switch w.Rank() {
		case 0:
			return w.Barrier()
		case 1:
			_, err := mpi.Recv(w, make([]int, 1), 1, 5) // from itself
			return err
		case 2:
			_, err := mpi.Recv(w, make([]int, 1), 3, 6)
			return err
		}
		return mpi.Ssend(w, make([]byte, 1<<20), 0, 7)
	}, mpi.WithContext(ctx))
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, mpi.ErrProcFailed)
	for rank, waits := range []string{"rank 0 ", "rank 1 ", "rank 2 ", "rank 3 "} {
		require.ErrorContains(t, err, "\n  "+waits, rank)
	}
	require.ErrorContains(t, err, "tag 7")
}

// A context that does not end, or ends too late, changes nothing.
func TestRunIsOverBeforeItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, mpi.Run(2, func(w *mpi.Comm) error { return w.Barrier() }, mpi.WithContext(ctx)))
	err := mpi.Run(2, func(w *mpi.Comm) error {
		if w.Rank() == 1 {
			return errors.New("own")
		}
		return nil
	}, mpi.WithContext(ctx))
	require.EqualError(t, err, "rank 1: own")
	require.ErrorIs(t, mpi.Run(1, func(w *mpi.Comm) error { return nil }, mpi.WithContext(nil)), mpi.ErrInit)
}

func TestARankAloneEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := mpi.Run(1, func(w *mpi.Comm) error {
		_, err := mpi.Recv(w, make([]int, 1), 0, 5)
		return err
	}, mpi.WithContext(ctx))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "receive from rank 0, tag 5")
}

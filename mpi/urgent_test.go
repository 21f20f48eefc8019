package mpi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A rank whose call ends while a peer asks whether a receive may be cancelled, and
// which then makes no call, answers all the same.
func TestCancelAnsweredByARankThatHasJustLeft(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 4000
	}
	over := make(chan struct{})
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		one := []int32{0}
		for i := range rounds {
			if c.Rank() == 0 {
				if _, err := mpi.Recv(c, one, 1, 0); err != nil {
					return err
				}
				select { // not in a call
				case <-over:
				case <-time.After(time.Minute):
					return errors.New("the receive that was cancelled does not end")
				}
				continue
			}
			q, err := mpi.Irecv(c, make([]int32, 10), 0, 1+i%3)
			if err != nil {
				return err
			}
			if err := mpi.Send(c, one, 0, 0); err != nil {
				return err
			}
			if err := q.Cancel(); err != nil {
				return err
			}
			if st, err := q.Wait(); err != nil || !st.Cancelled() {
				return errors.New("not cancelled")
			}
			over <- struct{}{}
		}
		return nil
	}))
}

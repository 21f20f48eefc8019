package mpi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A synchronous send to a short receive that is posted ends although the receiver
// makes no call until then.
func TestSynchronousSendToARankThatIsNotInACall(t *testing.T) {
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			over := make(chan struct{})
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				for i, size := range []int{0, 1, 40, 3000, 32 << 10} {
					if err := c.Barrier(); err != nil {
						return err
					}
					if c.Rank() == 1 {
						q, err := mpi.Irecv(c, make([]byte, size), 0, i)
						if err != nil {
							return err
						}
						if err := c.Barrier(); err != nil {
							return err
						}
						select { // not in a call
						case <-over:
						case <-time.After(time.Minute):
							return errors.New("the send does not end")
						}
						if _, err := q.Wait(); err != nil {
							return err
						}
						continue
					}
					if err := c.Barrier(); err != nil {
						return err
					}
					q, err := mpi.Issend(c, make([]byte, size), 1, i)
					if err != nil {
						return err
					}
					for done := false; i%2 == 1 && !done; {
						if done, _, err = q.Test(); err != nil {
							return err
						}
					}
					if _, err := q.Wait(); err != nil {
						return err
					}
					over <- struct{}{}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

package mpi_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Short messages complete at their sender as long as it has credit, however
// full the mailbox is and in whatever order the receiver takes them.
func TestShortMessagesReceivedInReverse(t *testing.T) {
	const n = 10_000
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				v := []int64{0}
				if c.Rank() == 0 {
					for i := range n {
						v[0] = int64(i)
						if i%2 == 0 {
							if err := mpi.Send(c, v, 1, i); err != nil {
								return err
							}
							continue
						}
						q, err := mpi.Isend(c, v, 1, i)
						if err != nil {
							return err
						}
						if _, err := q.Wait(); err != nil {
							return err
						}
					}
					return nil
				}
				for i := n - 1; i >= 0; i-- {
					if _, err := mpi.Recv(c, v, 0, i); err != nil {
						return err
					}
					if v[0] != int64(i) {
						return fmt.Errorf("message %d has %d", i, v[0])
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

// Beyond the credit sends go by rendezvous, and nothing is lost or reordered.
func TestMoreThanTheCredit(t *testing.T) {
	const n, size = 4000, 4096 // twice the credit
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				if c.Rank() == 0 {
					reqs := make([]*mpi.Request, n)
					for i := range reqs {
						var err error
						if reqs[i], err = mpi.Isend(c, pattern(size, i), 1, 7); err != nil {
							return err
						}
					}
					if variant != "optimistic" && c.Counters()["no_credit"] == 0 {
						return fmt.Errorf("all %d messages found credit", n)
					}
					if err := mpi.Send(c, []byte{1}, 1, 8); err != nil {
						return err
					}
					return mpi.WaitAll(reqs...)
				}
				if _, err := mpi.Recv(c, make([]byte, 1), 0, 8); err != nil {
					return err
				}
				buf := make([]byte, size)
				for i := range n {
					if _, err := mpi.Recv(c, buf, 0, 7); err != nil {
						return err
					}
					if string(buf) != string(pattern(size, i)) {
						return fmt.Errorf("message %d is another", i)
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

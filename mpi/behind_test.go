package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A long message arrives however many others wait, between the same two ranks, for receives that are posted later.
func TestALongMessageBehindManyThatWait(t *testing.T) {
	const many, size = 300, 100000
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		other := 1 - c.Rank()
		if c.Rank() == 0 {
			var all []*mpi.Request
			for i := range many {
				r, err := mpi.Isend(c, make([]byte, size), other, 1+i)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			if err := mpi.Send(c, make([]byte, size), other, 0); err != nil {
				return err
			}
			return mpi.WaitAll(all...)
		}
		in := make([]byte, size)
		for tag := range 1 + many {
			if _, err := mpi.Recv(c, in, other, tag); err != nil {
				return err
			}
		}
		return nil
	}))
}

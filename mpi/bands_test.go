package mpi_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// The bands of the protocol customized are two sizes; a size of exactly the second leaves a copy, one more does not.
func TestBands(t *testing.T) {
	if !slices.Contains(mpi.Variants(), "customized") {
		t.Skipf("this build has %s only", mpi.Variants())
	}
	copies := func(size int, opts ...mpi.Option) (n uint64) {
		err := mpi.Run(2, func(c *mpi.Comm) error {
			if c.Rank() == 1 {
				if err := c.Barrier(); err != nil {
					return err
				}
				_, err := mpi.Recv(c, make([]byte, size), 0, 1)
				return err
			}
			q, err := mpi.Isend(c, make([]byte, size), 1, 1)
			if err == nil {
				err = c.Barrier()
			}
			if err == nil {
				_, err = q.Wait()
			}
			n = c.Counters()["copies"]
			return err
		}, append(opts, mpi.WithVariant("customized"))...)
		require.NoError(t, err)
		return n
	}
	t.Setenv("EXANET_BANDS", "12K,40K")
	require.Zero(t, copies(12<<10))
	require.EqualValues(t, 1, copies(12<<10+1))
	require.EqualValues(t, 1, copies(40<<10))
	require.Zero(t, copies(40<<10+1))
	require.EqualValues(t, 1, copies(1<<20, mpi.WithBands(0, 1<<20)), "an option comes before the environment")
	for _, wrong := range []string{"12K", "12K,", ",40K", "40K,12K", "-1,5", "12K,40K,50K", "1x,2", "0,4096M"} {
		t.Setenv("EXANET_BANDS", wrong)
		err := mpi.Run(1, func(*mpi.Comm) error { return nil }, mpi.WithVariant("customized"))
		require.ErrorIs(t, err, mpi.ErrInit, wrong)
		require.ErrorContains(t, err, "EXANET_BANDS", wrong)
	}
	require.Error(t, mpi.Run(1, func(*mpi.Comm) error { return nil }, mpi.WithBands(2, 1)))
}

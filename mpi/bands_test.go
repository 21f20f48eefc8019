package mpi_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/packetizer"
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
	require.Zero(t, copies(40<<10, mpi.WithBands(0, 0)), "also if nothing is medium")
	for wrong, says := range map[string]string{
		"12K": "not two sizes", "12K,": "not two sizes", ",40K": "not two sizes", "12K,40K,50K": "not two sizes",
		"12k,40k": "not two sizes", "12K, 40K": "not two sizes", "1x,2": "not two sizes", "-1,5": "not two sizes",
		"0,4096M": "not two sizes", "40K,12K": "the second size is smaller", "1,1": "smaller than the 40 bytes",
		"39,40K": "smaller than the 40 bytes",
	} {
		t.Setenv("EXANET_BANDS", wrong)
		err := mpi.Run(1, func(*mpi.Comm) error { return nil }, mpi.WithVariant("customized"))
		require.ErrorIs(t, err, mpi.ErrInit, wrong)
		for _, part := range []string{"EXANET_BANDS=\"" + wrong + "\"", says, "as 12K,40K", "without blanks",
			"at least 40"} {
			require.ErrorContains(t, err, part)
		}
	}
	for _, wrong := range [][2]int{{2, 1}, {39, 1 << 10}, {-1, 5}, {0, -1}} {
		require.Error(t, mpi.Run(1, func(*mpi.Comm) error { return nil }, mpi.WithBands(wrong[0], wrong[1])), wrong)
	}
}

// The least eager size holds all that a control message carries, on the device that frames messages too.
func TestLeastBands(t *testing.T) {
	for _, device := range []string{"host", "network"} {
		err := mpi.Run(2, func(c *mpi.Comm) error {
			for _, size := range []int{40, 41, 100, 200} { // eager, medium twice, large
				data := bytes.Repeat([]byte{byte(size)}, size)
				got := make([]byte, size)
				to := 1 - c.Rank()
				if _, err := mpi.Sendrecv(c, data, to, 1, got, to, 1); err != nil {
					return err
				}
				if !bytes.Equal(data, got) {
					return fmt.Errorf("%d bytes came as %x", size, got)
				}
			}
			return nil
		}, mpi.WithVariant(mpi.DefaultVariant), mpi.WithBands(packetizer.PayloadLimit, 100), mpi.WithDevice(device))
		require.NoError(t, err, device)
	}
}

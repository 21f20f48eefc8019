package mpi_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Blocks without elements may be displaced to anywhere.
func TestEmptyBlocksLieAnywhere(t *testing.T) {
	for _, p := range []int{1, 2, 5} {
		require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
			counts, displs := make([]int, p), make([]int, p)
			for i, d := range []int{5, -1, math.MaxInt, math.MinInt, -1 << 62} {
				displs[i%p] = d
			}
			buf := []int{1, 2}
			return errors.Join(
				mpi.Allgatherv(c, []int{}, buf, counts, displs),
				mpi.Gatherv(c, []int{}, buf, counts, displs, 0),
				mpi.Scatterv(c, buf, counts, displs, []int{}, 0),
				mpi.Alltoallv(c, buf, counts, displs, buf, counts, displs),
				mpi.Alltoallv(c, nil, nil, nil, buf, counts, displs),
			)
		}))
	}
}

// Elements without size are counted all the same.
func TestElementsWithoutSize(t *testing.T) {
	type none = struct{}
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		five, all, each := make([]none, 5), make([]none, 15), []int{5, 5, 5}
		op := mpi.NewOp(func(in, inout []none) {}, true)
		require.ErrorIs(t, mpi.Allgather(c, five, all[:14]), mpi.ErrCount)
		require.ErrorIs(t, mpi.ReduceScatterBlock(c, all[:14], five, op), mpi.ErrCount)
		return errors.Join(
			mpi.Bcast(c, five, 0),
			mpi.Gather(c, five, all, 0), mpi.Gatherv(c, five, all, each, nil, 1),
			mpi.Scatter(c, all, five, 0), mpi.Scatterv(c, all, each, nil, five, 1),
			mpi.Allgather(c, five, all), mpi.Allgather(c, nil, all), mpi.Allgatherv(c, five, all, each, nil),
			mpi.Alltoall(c, all, all), mpi.Alltoallv(c, all, each, nil, all, each, nil),
			mpi.Reduce(c, five, five, op, 0), mpi.Allreduce(c, nil, five, op), mpi.Scan(c, five, make([]none, 5), op),
			mpi.ReduceScatter(c, all, five, each, op), mpi.ReduceScatterBlock(c, all, five, op),
			mpi.ReduceLocal(five, five, op),
		)
	}))
}

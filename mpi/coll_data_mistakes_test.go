package mpi_test

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// A description can be made into one call, and never into another one.
func TestADataCallIsMadeOnce(t *testing.T) {
	view := func(v *int64) datatype.View {
		return datatype.View{Base: unsafe.Pointer(v), Count: 1, Type: datatype.Int64}
	}
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		a, b, sum := int64(1), int64(5), int64(0)
		bcast := c.BcastData(view(&a), 0)
		require.NoError(t, bcast.Do())
		require.ErrorIs(t, bcast.Do(), mpi.ErrRequest)
		allreduce := c.AllreduceData(view(&b), view(&sum), mpi.Sum) // may be in the memory of the Bcast
		require.ErrorIs(t, bcast.Do(), mpi.ErrRequest)
		_, err := bcast.Begin()
		require.ErrorIs(t, err, mpi.ErrRequest)
		_, err = bcast.Init()
		require.ErrorIs(t, err, mpi.ErrRequest)
		require.Zero(t, sum)
		require.NoError(t, allreduce.Do())
		require.EqualValues(t, 10, sum)

		var none mpi.DataCall
		require.ErrorIs(t, none.Do(), mpi.ErrRequest)
		wrong := c.BcastData(view(&a), 7)
		require.ErrorIs(t, wrong.Do(), mpi.ErrRoot)
		require.ErrorIs(t, wrong.Do(), mpi.ErrRoot)
		return nil
	}))
}

func TestMistakesInDescriptions(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		x, y := make([]int64, 8), make([]int64, 8)
		p, q := unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])
		v := func(p unsafe.Pointer, n int, d *datatype.Type) datatype.View {
			return datatype.View{Base: p, Count: n, Type: d}
		}
		ints, zero := v(p, 2, datatype.Int64), []int{0, 0}
		for name, check := range map[string]struct {
			call mpi.DataCall
			want error
		}{
			"no data":          {c.BcastData(datatype.View{}, 0), mpi.ErrType},
			"a type of nobody": {c.BcastData(v(p, 0, &datatype.Type{}), 0), mpi.ErrType},
			"no type of blocks": {c.AllgathervData(v(p, 0, datatype.Int64), mpi.Vector{Base: q, Counts: zero}),
				mpi.ErrType},
			"no types of blocks": {c.AlltoallvData(mpi.Vector{},
				mpi.Vector{Base: q, Counts: zero, Types: make([]*datatype.Type, 2)}), mpi.ErrType},
			"no type of a result":  {c.ReduceScatterData(p, q, false, zero, nil, mpi.Sum), mpi.ErrType},
			"a mistake in With":    {c.BcastData(mpi.With(x, 9, datatype.Int64).View(), 0), mpi.ErrType},
			"different types":      {c.AllreduceData(ints, v(q, 2, datatype.Float64), mpi.Sum), mpi.ErrType},
			"different sizes":      {c.ScanData(ints, v(q, 4, datatype.Int32), mpi.Sum), mpi.ErrType},
			"no memory":            {c.BcastData(v(nil, 1, datatype.Int64), 0), mpi.ErrArg},
			"different lengths":    {c.AllreduceData(ints, v(q, 3, datatype.Int64), mpi.Sum), mpi.ErrCount},
			"counts beyond reason": {c.BcastData(v(p, math.MaxInt, datatype.Int64), 0), mpi.ErrCount},
			"blocks beyond reason": {c.AlltoallData(ints, v(p, math.MaxInt/8, datatype.Int64)), mpi.ErrCount},
			"a vector beyond": {c.AllgathervData(ints,
				mpi.Vector{Base: q, Counts: []int{1, math.MaxInt / 4}, Type: datatype.Int64}), mpi.ErrCount},
			"a negative block": {c.AllgathervData(ints,
				mpi.Vector{Base: q, Counts: []int{1, -1}, Type: datatype.Int64}), mpi.ErrCount},
			"counts that overflow": {c.ReduceScatterData(p, q, false, []int{math.MaxInt, 2}, datatype.Int64, mpi.Sum),
				mpi.ErrCount},
			"too many for a result": {c.ReduceScatterBlockData(p, q, false, math.MaxInt, datatype.Int64, mpi.Sum),
				mpi.ErrCount},
		} {
			require.ErrorIs(t, check.call.Do(), check.want, name)
		}
		require.ErrorIs(t, c.ReduceLocalData(ints, v(q, 2, datatype.Float64), mpi.Sum), mpi.ErrType)
		return errors.Join(
			c.BcastData(v(nil, 0, datatype.Int64), 0).Do(),
			c.AllgathervData(v(nil, 0, datatype.Int64),
				mpi.Vector{Counts: zero, Displs: []int{math.MaxInt, -9}, Type: datatype.Int64}).Do(),
			c.AllreduceData(mpi.With(x, 8, datatype.Int64).View(), mpi.With(y, 8, datatype.Int64).View(), mpi.Sum).Do(),
		)
	}))
}

package mpi_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// The padding of a Go struct is not sent with the type of the struct.
func TestStructsWithoutTheirPadding(t *testing.T) {
	type particle struct {
		Kind byte
		X, Y float64
		ID   int32
	}
	p := made(datatype.Of[particle]())
	for _, n := range []int{3, 5000} {
		require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
			ps := make([]particle, n)
			if c.Rank() == 0 {
				for i := range ps {
					ps[i] = particle{byte(i), float64(i), -float64(i), int32(i)}
				}
				return c.SendData(mpi.With(ps, n, p), 1, 0)
			}
			raw := unsafe.Slice((*byte)(unsafe.Pointer(&ps[0])), n*int(unsafe.Sizeof(ps[0])))
			for i := range raw {
				raw[i] = 0xee
			}
			st, err := c.RecvData(mpi.With(ps, n, p), 0, 0)
			if err != nil {
				return err
			}
			require.Equal(t, n*21, st.Bytes())
			require.Equal(t, n, st.CountOf(p))
			require.Equal(t, 4*n, st.Elements(p))
			for i, got := range ps {
				require.Equal(t, particle{byte(i), float64(i), -float64(i), int32(i)}, got)
				require.EqualValues(t, []byte{0xee, 0xee}, raw[i*32+1:i*32+3], "padding")
				require.EqualValues(t, []byte{0xee, 0xee}, raw[i*32+28:i*32+30], "padding")
			}
			return nil
		}))
	}
}

// Collectives take the view of data.
func TestDataInCollectives(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		col, m := column(20), make([]float64, 400)
		if c.Rank() == 1 {
			m = matrix(20)
		}
		if err := c.BcastData(mpi.With(m[1:], 1, col).View(), 1).Do(); err != nil {
			return err
		}
		if c.Rank() != 1 {
			if err := onlyColumn(m, matrix(20), 20); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestPackAndUnpack(t *testing.T) {
	col := column(10)
	m := matrix(10)
	out := make([]byte, mpi.PackSize(2, col)+3)
	at, err := mpi.Pack(mpi.With(m, 1, col), out, 3)
	require.NoError(t, err)
	at, err = mpi.Pack(mpi.Of(m[:10]), out, at)
	require.NoError(t, err)
	require.Equal(t, len(out), at)
	_, err = mpi.Pack(mpi.Of(m[:1]), out, at)
	require.ErrorIs(t, err, mpi.ErrTruncate)
	in := make([]float64, 100)
	at, err = mpi.Unpack(out, 3, mpi.With(in, 1, col))
	require.NoError(t, err)
	_, err = mpi.Unpack(out, at, mpi.Of(in[90:]))
	require.NoError(t, err)
	for i := range 9 {
		require.Equal(t, m[10*i], in[10*i])
	}
	require.Equal(t, m[:10], in[90:])
	_, err = mpi.Unpack(out, len(out)-7, mpi.Of(in[:1]))
	require.ErrorIs(t, err, mpi.ErrTruncate)
}

// A rank dies while others send to it and receive from it.
func TestDataOfTheDead(t *testing.T) {
	for _, v := range mpi.Variants() {
		for _, n := range []int{20, 1100} {
			var seen atomic.Int32
			died := errors.New("on purpose")
			err := mpi.Run(3, func(c *mpi.Comm) error {
				if c.Rank() == 2 {
					return died
				}
				col, m := column(n), matrix(n)
				if c.Rank() == 1 {
					_, err := c.RecvData(mpi.With(m, 1, col), 2, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
					require.Equal(t, matrix(n), m)
				} else {
					err := c.SsendData(mpi.With(m, 1, col), 2, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
				}
				seen.Add(1)
				return nil
			}, mpi.WithVariant(v))
			require.ErrorIs(t, err, died)
			require.EqualValues(t, 2, seen.Load())
		}
	}
}

// A request alone keeps its memory, which stays where it is though the stack that
// held the slice moves.
func TestDataStayWhereTheyAre(t *testing.T) {
	const n = 1100
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		col := column(n)
		other := 1 - c.Rank()
		in, err := c.IrecvData(mpi.With(matrix(n), 1, col), other, 0) // nobody else has this matrix
		if err != nil {
			return err
		}
		var local [40]float64
		small, err := c.IrecvData(mpi.With(local[:], 2, made(datatype.Vector(5, 2, 4, datatype.Float64))), other, 1)
		if err != nil {
			return err
		}
		deep(200)
		runtime.GC()
		for i := range 20 {
			_ = matrix(100 + i)
		}
		if err := c.SendData(mpi.With(matrix(n), 1, col), other, 0); err != nil {
			return err
		}
		if err := c.SendData(mpi.Of(matrix(5)[:20]), other, 1); err != nil {
			return err
		}
		if err := mpi.WaitAll(in, small); err != nil {
			return err
		}
		require.Equal(t, []float64{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0, 9, 10, 11, 12, 0, 0}, local[:22])
		return nil
	}))
}

// deep makes the stack of this goroutine move.
func deep(n int) int {
	var pad [512]byte
	pad[n%len(pad)] = 1
	if n == 0 {
		return int(pad[0])
	}
	return deep(n-1) + int(pad[1])
}

func TestMistakesInData(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		err := c.SendData(mpi.With(make([]float64, 99), 1, made(datatype.Contiguous(100, datatype.Float64))), 0, 0)
		require.ErrorIs(t, err, mpi.ErrCount)
		require.ErrorContains(t, err, "lie at bytes 0 to 800, the buffer has bytes 0 to 792")
		_, err = c.IrecvData(mpi.With([]int{1}, -1, datatype.Int64), 0, 0)
		require.ErrorIs(t, err, mpi.ErrCount)
		_, err = c.RecvData(mpi.With([]int{1}, 1, nil), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		_, err = c.RecvData(mpi.Of([]*int{nil}), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		err = c.BsendData(mpi.At(nil, 1, nil), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		err = c.SendData(mpi.Of([]int{1}), 1, 0)
		require.ErrorIs(t, err, mpi.ErrRank)
		require.Error(t, mpi.With([]int{1}, 2, datatype.Int64).Err())
		require.NoError(t, c.SendData(mpi.Of([]int{1}), mpi.ProcNull, 0))
		return nil
	}))
}

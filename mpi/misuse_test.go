package mpi_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// Every method of every type, called on nil, on the zero value, and with zero
// arguments: no call may panic.
func TestNothingAtAll(t *testing.T) {
	for _, of := range []any{
		(*mpi.Comm)(nil), new(mpi.Comm), (*mpi.Group)(nil), (*mpi.Request)(nil), new(mpi.Request),
		(*mpi.Message)(nil), new(mpi.Message), (*mpi.Keyval)(nil), new(mpi.Keyval),
		mpi.Status{}, mpi.Data{}, mpi.Op{},
	} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			if name == "Abort" { // ends the process
				continue
			}
			m := v.Method(i)
			var args []reflect.Value
			for j := range m.Type().NumIn() {
				switch in := m.Type().In(j); {
				case m.Type().IsVariadic() && j == m.Type().NumIn()-1:
				case in == reflect.TypeFor[context.Context]():
					args = append(args, reflect.ValueOf(context.Background()))
				default:
					args = append(args, reflect.Zero(in))
				}
			}
			require.NotPanics(t, func() { m.Call(args) }, "%T %s", of, name)
		}
	}
	var c *mpi.Comm
	require.Equal(t, mpi.Undefined, c.Rank())
	require.Zero(t, c.Size())
	require.Zero(t, mpi.PackSize(1, nil))
	require.Equal(t, -1, mpi.Status{}.CountOf(nil))
	_, err := datatype.OfGo(nil)
	require.ErrorIs(t, err, datatype.ErrType)
}

func TestAddressesThatAreNoMemory(t *testing.T) {
	x := []int64{7}
	here := unsafe.Pointer(&x[0])
	for _, d := range []mpi.Data{
		mpi.At(nil, 1, datatype.Int64),
		mpi.At(here, math.MaxInt, datatype.Int64),
		mpi.At(here, 1<<58, datatype.Byte),
		mpi.At(here, -1, datatype.Int64),
		mpi.At(here, 1, nil),
	} {
		require.Error(t, d.Err())
	}
	require.NoError(t, mpi.At(nil, 0, datatype.Int64).Err())
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		require.ErrorIs(t, c.SendData(mpi.At(nil, 1, datatype.Int64), 0, 0), mpi.ErrArg)
		// MPI_BOTTOM.
		absolute, err := datatype.Hindexed([]int{1}, []int{int(uintptr(here))}, datatype.Int64)
		require.NoError(t, err)
		q, err := mpi.Irecv(c, make([]int64, 1), 0, 0)
		require.NoError(t, err)
		require.NoError(t, c.SendData(mpi.At(nil, 1, absolute), 0, 0))
		_, err = q.Wait()
		return err
	}))
}

// An attribute of one rank refuses to be copied: nobody gets a communicator, and
// nobody waits for one.
func TestARefusedCopyEndsDupEverywhere(t *testing.T) {
	no := errors.New("no")
	duplicate := map[string]func(c *mpi.Comm) (*mpi.Comm, error){
		"Dup": (*mpi.Comm).Dup,
		"Idup": func(c *mpi.Comm) (*mpi.Comm, error) {
			d, q, err := c.Idup()
			if err == nil {
				_, err = q.Wait()
			}
			return d, err
		},
	}
	for name, dup := range duplicate {
		for refuses := range 3 {
			deleted := make([]int, 3)
			require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
				require.NoError(t, c.SetAttr(mpi.NewKeyval(mpi.CopyAlways, func(*mpi.Comm, any) error {
					deleted[c.Rank()]++
					return nil
				}), 1))
				key := mpi.NewKeyval(func(_ *mpi.Comm, v any) (any, bool, error) {
					if c.Rank() == refuses {
						return nil, false, no
					}
					return v, true, nil
				}, nil)
				require.NoError(t, c.SetAttr(key, 1))
				d, err := dup(c)
				if c.Rank() == refuses {
					require.ErrorIs(t, err, no, name)
				} else {
					require.ErrorIs(t, err, mpi.ErrArg, name)
				}
				require.Error(t, d.Barrier(), "nobody has got a communicator")
				if name == "Dup" {
					require.Equal(t, 1, deleted[c.Rank()])
				}
				require.NoError(t, c.DeleteAttr(key))
				if d, err = dup(c); err != nil {
					return err
				}
				if err := d.Barrier(); err != nil {
					return err
				}
				return d.Free()
			}))
		}
	}
}

// What belongs to another world, or to another rank of this one.
func TestStrangeCommunicatorsAndGroups(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		return mpi.Run(1, func(other *mpi.Comm) error {
			_, err := c.Compare(other)
			require.ErrorIs(t, err, mpi.ErrComm)
			_, err = c.Create(other.Group())
			require.ErrorIs(t, err, mpi.ErrGroup)
			_, err = c.InterCreate(0, other, 0, 0)
			require.ErrorIs(t, err, mpi.ErrComm)
			_, err = c.InterCreate(0, c, 0, 0)
			require.ErrorContains(t, err, "the caller itself")
			return nil
		})
	}))
}

func TestOperatorsThatAreNone(t *testing.T) {
	for _, op := range []mpi.Op{{}, mpi.NewOp[int32](nil, true), mpi.NewOpFunc(nil, true)} {
		err := mpi.ReduceLocal([]int32{1}, []int32{2}, op)
		require.ErrorIs(t, err, mpi.ErrOp)
		require.ErrorContains(t, err, "no function")
	}
}

func minLoc[I int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint](t *testing.T) {
	type pair struct {
		V float64
		I I
	}
	inout := []pair{{3, 1}, {1, 5}}
	require.NoError(t, mpi.ReduceLocal([]pair{{2, 2}, {1, 4}}, inout, mpi.MinLoc))
	require.Equal(t, []pair{{2, 2}, {1, 4}}, inout)
}

func TestIndicesOfAnyInteger(t *testing.T) {
	minLoc[int8](t)
	minLoc[int16](t)
	minLoc[int32](t)
	minLoc[int64](t)
	minLoc[int](t)
	minLoc[uint8](t)
	minLoc[uint16](t)
	minLoc[uint32](t)
	minLoc[uint64](t)
	minLoc[uint](t)
}

func TestTextsOfErrors(t *testing.T) {
	_, err := mpi.Dims(6)
	require.EqualError(t, err, "mpi: Dims: invalid dimensions: the grid [] has not 6 ranks; give 0 for each "+
		"dimension that is to be chosen, and others whose product divides the number of ranks")
	require.ErrorIs(t, err, mpi.ErrDims)
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := mpi.RecvContext(ctx, c, make([]int64, 2), 0, 3)
		require.EqualError(t, err, "mpi: rank 0: RecvContext, peer 0, tag 3, 16 bytes: context canceled")
		require.EqualError(t, c.AttachBuffer(-1), "mpi: rank 0: AttachBuffer, -1 bytes: the attached buffer does not "+
			"serve; its size cannot be negative")
		return nil
	}))
}

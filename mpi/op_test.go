package mpi_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint | ~float32 | ~float64
}

func truth[T number](b bool) T {
	if b {
		return 1
	}
	return 0
}

// onNumbers says what the operators on all numbers do to two of them.
func onNumbers[T number]() map[string]func(a, b T) T {
	return map[string]func(a, b T) T{
		"Sum":  func(a, b T) T { return a + b },
		"Prod": func(a, b T) T { return a * b },
		"Max":  func(a, b T) T { return max(a, b) },
		"Min":  func(a, b T) T { return min(a, b) },
		"Land": func(a, b T) T { return truth[T](a != 0 && b != 0) },
		"Lor":  func(a, b T) T { return truth[T](a != 0 || b != 0) },
		"Lxor": func(a, b T) T { return truth[T]((a != 0) != (b != 0)) },
	}
}

func onIntegers[T interface {
	number
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}]() map[string]func(a, b T) T {
	m := onNumbers[T]()
	m["Band"] = func(a, b T) T { return a & b }
	m["Bor"] = func(a, b T) T { return a | b }
	m["Bxor"] = func(a, b T) T { return a ^ b }
	return m
}

var operators = []mpi.Op{mpi.Sum, mpi.Prod, mpi.Max, mpi.Min, mpi.Land, mpi.Lor, mpi.Lxor, mpi.Band, mpi.Bor, mpi.Bxor,
	mpi.MinLoc, mpi.MaxLoc}

// checkOps compares every operator on elements of T with what it shall do, as a
// call with a Go type and with a datatype; those that want has not must be
// refused.
func checkOps[T comparable](t *testing.T, d *datatype.Type, a, b []T, want map[string]func(a, b T) T) {
	t.Helper()
	for _, op := range operators {
		f, in, inout := want[op.String()], slices.Clone(a), slices.Clone(b)
		err := mpi.ReduceLocal(in, inout, op)
		if f == nil {
			require.ErrorIs(t, err, mpi.ErrOp, "%v on %T", op, a)
			continue
		}
		require.NoError(t, err, "%v on %T", op, a)
		combined := make([]T, len(a))
		for i := range a {
			combined[i] = f(a[i], b[i])
		}
		require.Equal(t, combined, inout, "%v on %T", op, a)
		require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
			mine := slices.Clone([][]T{a, b, a}[c.Rank()])
			same := slices.Clone(mine)
			if err := mpi.Allreduce(c, nil, mine, op); err != nil {
				return err
			}
			for i := range mine {
				if sum := f(f(a[i], b[i]), a[i]); mine[i] != sum {
					return fmt.Errorf("%v of %v, %v, %v: %v", op, a[i], b[i], a[i], mine[i])
				}
			}
			data := datatype.View{Base: unsafe.Pointer(unsafe.SliceData(same)), Count: len(same), Type: d}
			if err := c.AllreduceData(mpi.InPlace, data, op).Do(); err != nil {
				return err
			}
			if !slices.Equal(mine, same) {
				return fmt.Errorf("%v on %v: %v, want %v", op, d.Kind(), same, mine)
			}
			return nil
		}))
	}
}

func TestOperatorsOnAllKinds(t *testing.T) {
	checkOps(t, datatype.Int8, []int8{0, 3, -7, 100}, []int8{5, 0, -9, 100}, onIntegers[int8]())
	checkOps(t, datatype.Int16, []int16{0, 3, -7, 100}, []int16{5, 0, -9, 1000}, onIntegers[int16]())
	checkOps(t, datatype.Int32, []int32{0, 3, -7, 1 << 30}, []int32{5, 0, -9, 1 << 30}, onIntegers[int32]())
	checkOps(t, datatype.Int64, []int64{0, 3, -7, 1 << 40}, []int64{5, 0, -9, 1 << 40}, onIntegers[int64]())
	checkOps(t, datatype.Int64, []int{0, 3, -7}, []int{5, 0, -9}, onIntegers[int]())
	checkOps(t, datatype.Uint8, []uint8{0, 3, 7, 200}, []uint8{5, 0, 9, 100}, onIntegers[uint8]())
	checkOps(t, datatype.Uint16, []uint16{0, 3, 7}, []uint16{5, 0, 9}, onIntegers[uint16]())
	checkOps(t, datatype.Uint32, []uint32{0, 3, 7}, []uint32{5, 0, 9}, onIntegers[uint32]())
	checkOps(t, datatype.Uint64, []uint64{0, 3, math.MaxUint64}, []uint64{5, 0, 9}, onIntegers[uint64]())
	checkOps(t, datatype.Uint64, []uint{0, 3, 7}, []uint{5, 0, 9}, onIntegers[uint]())
	checkOps(t, datatype.Float32, []float32{0, 3, -7.5}, []float32{5, 0, 2}, onNumbers[float32]())
	checkOps(t, datatype.Float64, []float64{0, 3, -7.5}, []float64{5, 0, 2}, onNumbers[float64]())
	type celsius float32
	checkOps(t, datatype.Float32, []celsius{0, 3, -7.5}, []celsius{5, 0, 2}, onNumbers[celsius]())
	checkOps(t, datatype.Complex64, []complex64{1i, 3}, []complex64{1 + 2i, -1i},
		map[string]func(a, b complex64) complex64{
			"Sum":  func(a, b complex64) complex64 { return a + b },
			"Prod": func(a, b complex64) complex64 { return a * b },
		})
	checkOps(t, datatype.Complex128, []complex128{1i, 3}, []complex128{1 + 2i, -1i},
		map[string]func(a, b complex128) complex128{
			"Sum":  func(a, b complex128) complex128 { return a + b },
			"Prod": func(a, b complex128) complex128 { return a * b },
		})
	checkOps(t, datatype.Bool, []bool{false, true, true}, []bool{false, false, true}, map[string]func(a, b bool) bool{
		"Land": func(a, b bool) bool { return a && b }, "Lor": func(a, b bool) bool { return a || b },
		"Lxor": func(a, b bool) bool { return a != b },
	})
	checkOps(t, datatype.DoubleInt,
		[]mpi.Located[float64]{{1, 5}, {2, 7}, {3, 1}, {-1, 2}},
		[]mpi.Located[float64]{{1, 4}, {3, 0}, {3, 9}, {-2, 3}}, onLocated[float64]())
	checkOps(t, datatype.TwoInt, []mpi.Located[int32]{{1, 5}, {2, 7}}, []mpi.Located[int32]{{1, 4}, {3, 0}},
		onLocated[int32]())
	checkOps(t, datatype.FloatInt, []mpi.Located[float32]{{1, 5}, {2, 7}}, []mpi.Located[float32]{{1, 4}, {3, 0}},
		onLocated[float32]())
	checkOps(t, datatype.LongInt, []mpi.Located[int64]{{1, 5}, {2, 7}}, []mpi.Located[int64]{{1, 4}, {3, 0}},
		onLocated[int64]())
	checkOps(t, datatype.ShortInt, []mpi.Located[int16]{{1, 5}, {2, 7}}, []mpi.Located[int16]{{1, 4}, {3, 0}},
		onLocated[int16]())
}

func onLocated[T number]() map[string]func(a, b mpi.Located[T]) mpi.Located[T] {
	pick := func(better func(a, b T) bool) func(a, b mpi.Located[T]) mpi.Located[T] {
		return func(a, b mpi.Located[T]) mpi.Located[T] {
			if better(a.Value, b.Value) || a.Value == b.Value && a.Index < b.Index {
				return a
			}
			return b
		}
	}
	return map[string]func(a, b mpi.Located[T]) mpi.Located[T]{
		"MinLoc": pick(func(a, b T) bool { return a < b }), "MaxLoc": pick(func(a, b T) bool { return a > b }),
	}
}

// Bytes have no value, only bits; Replace and NoOp are the last and the first.
func TestOperatorsOnBytesAndWithoutCombination(t *testing.T) {
	require.NoError(t, mpi.Run(5, func(c *mpi.Comm) error {
		b := []byte{1 << c.Rank(), 0x80}
		data := datatype.Bytes(b)
		if err := c.AllreduceData(mpi.InPlace, data, mpi.Bor).Do(); err != nil {
			return err
		}
		if b[0] != 0x1f || b[1] != 0x80 {
			return fmt.Errorf("Bor: %x", b)
		}
		if err := c.AllreduceData(mpi.InPlace, data, mpi.Sum).Do(); err == nil {
			return fmt.Errorf("a sum of bytes")
		}
		who := []int{c.Rank()}
		if err := mpi.Allreduce(c, who, who, mpi.Replace); err != nil {
			return err
		}
		first := []int{c.Rank()}
		if err := mpi.Allreduce(c, first, first, mpi.NoOp); err != nil {
			return err
		}
		if who[0] != 4 || first[0] != 0 {
			return fmt.Errorf("Replace: %d, NoOp: %d", who[0], first[0])
		}
		return nil
	}))
}

// named calls are made in this order by all ranks.
type named struct {
	name string
	call func() error
}

func TestNeighbours(t *testing.T) {
	// Two rows and three columns; rows are open, columns closed: every rank has
	// one neighbour above or below and two beside it.
	require.NoError(t, mpi.Run(6, func(world *mpi.Comm) error {
		c, err := world.Cart([]int{2, 3}, []bool{false, true}, false)
		if err != nil {
			return err
		}
		me := c.Rank()
		sources, _, err := c.Neighbours()
		if err != nil {
			return err
		}
		value := func(from, slot int) int { return 100*from + slot }
		recv, want := []int{-1, -1, -1, -1}, []int{-1, -1, -1, -1}
		for i, from := range sources {
			if from != mpi.ProcNull {
				want[i] = value(from, i^1) // what it sends the other way
			}
		}
		send := []int{value(me, 0), value(me, 1), value(me, 2), value(me, 3)}
		one := []int{1, 1, 1, 1}
		check := func(name string, err error) error {
			if err == nil && !slices.Equal(recv, want) {
				err = fmt.Errorf("%s at rank %d: %v, want %v", name, me, recv, want)
			}
			for i := range recv {
				recv[i] = -1
			}
			return err
		}
		wait := func(q *mpi.Request, err error) error {
			if err == nil {
				_, err = q.Wait()
			}
			return err
		}
		again := func(q *mpi.Request, err error) error {
			if err == nil {
				err = q.Start()
			}
			return wait(q, err)
		}
		view := func(s []int) datatype.View {
			return datatype.View{Base: unsafe.Pointer(&s[0]), Count: 1, Type: datatype.Int64}
		}
		vector := func(s []int) mpi.Vector {
			return mpi.Vector{Base: unsafe.Pointer(&s[0]), Counts: one, Type: datatype.Int64}
		}
		types, places := []*datatype.Type{datatype.Int64, datatype.Int64, datatype.Int64, datatype.Int64},
			[]int{0, 8, 16, 24}
		for _, k := range []named{
			{"alltoall", func() error { return mpi.NeighbourAlltoall(c, send, recv) }},
			{"ialltoall", func() error { return wait(mpi.IneighbourAlltoall(c, send, recv)) }},
			{"alltoall+", func() error { return again(mpi.NeighbourAlltoallInit(c, send, recv)) }},
			{"alltoallv", func() error { return mpi.NeighbourAlltoallv(c, send, one, nil, recv, one, nil) }},
			{"ialltoallv", func() error { return wait(mpi.IneighbourAlltoallv(c, send, one, nil, recv, one, nil)) }},
			{"alltoallv+", func() error {
				return again(mpi.NeighbourAlltoallvInit(c, send, one, nil, recv, one, nil))
			}},
			{"data", func() error { return c.NeighbourAlltoallData(view(send), view(recv)).Do() }},
			{"vector data", func() error { return c.NeighbourAlltoallvData(vector(send), vector(recv)).Do() }},
			{"types", func() error {
				from, to := vector(send), vector(recv)
				from.Types, from.Displs, to.Types, to.Displs = types, places, types, places
				return c.NeighbourAlltoallvData(from, to).Do()
			}},
		} {
			if err := c.Barrier(); err != nil {
				return err
			}
			if err := check(k.name, k.call()); err != nil {
				return err
			}
		}
		for i, from := range sources {
			if from != mpi.ProcNull {
				want[i] = value(from, 0)
			}
		}
		for _, k := range []named{
			{"allgather", func() error { return mpi.NeighbourAllgather(c, send[:1], recv) }},
			{"iallgather", func() error { return wait(mpi.IneighbourAllgather(c, send[:1], recv)) }},
			{"allgather+", func() error { return again(mpi.NeighbourAllgatherInit(c, send[:1], recv)) }},
			{"allgatherv", func() error { return mpi.NeighbourAllgatherv(c, send[:1], recv, one, nil) }},
			{"iallgatherv", func() error { return wait(mpi.IneighbourAllgatherv(c, send[:1], recv, one, nil)) }},
			{"allgatherv+", func() error { return again(mpi.NeighbourAllgathervInit(c, send[:1], recv, one, nil)) }},
			{"data", func() error { return c.NeighbourAllgatherData(view(send), view(recv)).Do() }},
			{"vector data", func() error { return c.NeighbourAllgathervData(view(send), vector(recv)).Do() }},
		} {
			if err := c.Barrier(); err != nil {
				return err
			}
			if err := check(k.name, k.call()); err != nil {
				return err
			}
		}
		return nil
	}))
}

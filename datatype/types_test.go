package datatype

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func must(t *Type, err error) *Type {
	if err != nil {
		panic(err)
	}
	return t
}

// Large regular types are small.
func TestLayoutsStaySmall(t *testing.T) {
	column := must(Vector(1<<20, 1, 1<<10, Float64))
	require.Equal(t, opStrided, column.root.op)
	require.Equal(t, opBlock, must(Contiguous(1<<40, Float64)).root.op)
	require.Equal(t, opBlock, must(Vector(1<<20, 4, 4, Int32)).root.op, "adjacent blocks are one")
	displs, lens := make([]int, 1000), make([]int, 1000)
	for i := range displs {
		displs[i], lens[i] = 3*i, 2
	}
	require.Equal(t, opStrided, must(Indexed(lens, displs, Float64)).root.op, "regular lists are vectors")
	for i := range displs {
		displs[i] = 2 * i
	}
	require.Equal(t, opBlock, must(Indexed(lens, displs, Float64)).root.op, "adjacent blocks are one")
	matrix := must(Subarray([]int{1000, 1000, 1000}, []int{500, 1000, 1000}, []int{0, 0, 0}, OrderC, Float64))
	require.Equal(t, opBlock, matrix.root.op)
	matrix = must(Subarray([]int{1000, 1000, 1000}, []int{500, 500, 1000}, []int{0, 0, 0}, OrderC, Float64))
	require.Equal(t, 500, matrix.Blocks())
}

func TestBoundsThatWereGivenCount(t *testing.T) {
	r := must(Resized(Int32, -4, 16))
	lb, extent := must(Struct([]int{1, 1}, []int{0, 100}, []*Type{r, Float64})).Extent()
	require.Equal(t, [2]int{-4, 16}, [2]int{lb, extent})
	lb, extent = must(Struct([]int{1, 1}, []int{0, 8}, []*Type{Float64, Byte})).Extent()
	require.Equal(t, [2]int{0, 16}, [2]int{lb, extent})
}

func TestPairsOfC(t *testing.T) {
	for _, p := range []struct {
		t                    *Type
		size, extent, blocks int
	}{{FloatInt, 8, 8, 1}, {DoubleInt, 12, 16, 1}, {LongInt, 12, 16, 1}, {TwoInt, 8, 8, 1}, {ShortInt, 6, 8, 2},
		{LongDoubleInt, 20, 32, 1}} {
		_, extent := p.t.Extent()
		require.Equal(t, [4]int{p.size, p.extent, p.blocks, 2},
			[4]int{p.t.Size(), extent, p.t.Blocks(), p.t.Elements()}, p.t.String())
		require.Equal(t, p.t, must(Vector(3, 2, 4, p.t)).Basic())
	}
}

func TestGoTypes(t *testing.T) {
	type inner struct {
		A int8
		B float64
	}
	type outer struct {
		X [3]inner
		_ [5]byte
		Y complex64
	}
	x := must(Of[outer]())
	_, extent := x.Extent()
	require.Equal(t, int(unsafe.Sizeof(outer{})), extent)
	require.Equal(t, 3*9+8, x.Size())
	require.Equal(t, 7, x.Elements())
	require.Nil(t, x.Basic())
	v := []outer{{X: [3]inner{{1, 2}, {3, 4}, {5, 6}}, Y: 7}, {Y: 9i}}
	w := make([]outer, 2)
	from, err := Within(bytesOf(v), 2, x)
	require.NoError(t, err)
	to, err := Within(bytesOf(w), 2, x)
	require.NoError(t, err)
	Copy(to, from, 0, from.Size())
	require.Equal(t, v, w)

	type place struct {
		Value float64
		At    int
	}
	require.Equal(t, Pair(KindFloat64, KindInt64), must(Of[place]()).Kind())
	require.Equal(t, KindFloat32, must(Of[[2][3]float32]()).Kind())
	_, err = Of[struct {
		A int
		B []int
	}]()
	require.ErrorIs(t, err, ErrType)
	require.ErrorContains(t, err, "field B")
	_, err = Of[*int]()
	require.ErrorIs(t, err, ErrType)
}

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	for _, x := range []struct {
		err  error
		want error
		text string
	}{
		{second(Contiguous(-1, Byte)), ErrCount, "the count is -1"},
		{second(Contiguous(1, nil)), ErrType, "no type"},
		{second(Contiguous(1, new(Type))), ErrType, "no type"},
		{second(Vector(2, -3, 1, Byte)), ErrCount, "the block length is -3"},
		{second(Contiguous(1<<59, Float64)), ErrCount, "2^60"},
		{second(Vector(1<<40, 1, 1<<40, Float64)), ErrCount, "2^60"},
		{second(Indexed([]int{1}, []int{1, 2}, Byte)), ErrArg, "1 block lengths and 2 displacements"},
		{second(Indexed([]int{1, -1}, []int{1, 2}, Byte)), ErrCount, "length of a block is -1"},
		{second(Hindexed([]int{1, 1}, []int{1, -1 << 63}, Byte)), ErrCount, "2^60"},
		{second(Struct([]int{1}, []int{0}, nil)), ErrArg, "1 block lengths, 1 displacements and 0 types"},
		{second(Subarray([]int{4}, []int{2}, []int{3}, OrderC, Byte)), ErrArg,
			"dimension 0 of size 4 has no 2 elements from 3 on"},
		{second(Subarray(nil, nil, nil, OrderC, Byte)), ErrArg, "no dimensions"},
		{second(Subarray([]int{4}, []int{2}, []int{0}, 7, Byte)), ErrArg, "no order 7"},
		{second(Darray(4, 4, []int{8}, []Distribution{DistributeBlock}, []int{-1}, []int{4}, OrderC, Byte)), ErrArg,
			"rank 4 of 4"},
		{second(Darray(4, 0, []int{8}, []Distribution{DistributeBlock}, []int{1}, []int{4}, OrderC, Byte)), ErrArg,
			"do not cover"},
		{second(Darray(4, 0, []int{8}, []Distribution{DistributeNone}, []int{-1}, []int{4}, OrderC, Byte)), ErrArg,
			"not distributed"},
		{second(Darray(4, 0, []int{8}, []Distribution{9}, []int{-1}, []int{4}, OrderC, Byte)), ErrArg,
			"no distribution 9"},
	} {
		require.ErrorIs(t, x.err, x.want)
		require.ErrorContains(t, x.err, x.text)
	}
	_, err := Within(make([]byte, 100), 13, Float64)
	require.ErrorIs(t, err, ErrCount)
	require.ErrorContains(t, err, "13 elements of float64 lie at bytes 0 to 104, the buffer has bytes 0 to 100")
	_, err = Within(make([]byte, 100), 1, must(Hvector(2, 1, -8, Byte)))
	require.ErrorContains(t, err, "bytes -8 to 1")
	v, err := Within(make([]byte, 100), 12, Float64)
	require.NoError(t, err)
	require.Panics(t, func() { v.Pack(make([]byte, 1), 96) })
}

func second(_ *Type, err error) error { return err }

func TestEnvelopes(t *testing.T) {
	e := must(Indexed([]int{2, 3}, []int{7, 9}, Int16)).Envelope()
	require.Equal(t, Envelope{CombinerIndexed, []int{2, 2, 3, 7, 9}, nil, []*Type{Int16}}, e)
	require.Equal(t, "vector(3, 2, 5, contiguous(2, float64))",
		must(Vector(3, 2, 5, must(Contiguous(2, Float64)))).String())
	require.Equal(t, "{float64, int32}", DoubleInt.String())
	require.Equal(t, CombinerDup, must(Dup(Float64)).Envelope().Combiner)
}

func TestExternal32(t *testing.T) {
	type rec struct {
		A int16
		B [2]float32
		C complex128
	}
	x := must(Of[rec]())
	p := make([]byte, 2*x.Size())
	for i := range p {
		p[i] = byte(i)
	}
	require.True(t, x.External32(p, 2))
	at := func(i int) int { return int(p[i]) }
	require.Equal(t, []int{1, 0, 5, 4, 3, 2, 9, 8, 7, 6},
		[]int{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9)})
	require.Equal(t, []int{17, 25, 18, 27, 26}, []int{at(10), at(18), at(25), at(26), at(27)})
	require.True(t, x.External32(p, 2))
	for i := range p {
		require.EqualValues(t, i, p[i])
	}
	require.False(t, LongDoubleInt.External32(make([]byte, 20), 1))
}

// Displacements may be addresses (MPI_BOTTOM).
func TestAbsoluteAddresses(t *testing.T) {
	a, b := []int64{1, 2, 3}, []int32{4, 5}
	at := func(p unsafe.Pointer) int { return int(uintptr(p)) }
	x := must(Struct([]int{3, 2}, []int{at(unsafe.Pointer(&a[0])), at(unsafe.Pointer(&b[0]))}, []*Type{Int64, Int32}))
	v := View{nil, 1, x}
	p := make([]byte, v.Size())
	v.Pack(p, 0)
	require.Equal(t, []byte{1, 2, 3, 4, 5}, []byte{p[0], p[8], p[16], p[24], p[28]})
	p[0], p[28] = 10, 50
	v.Unpack(p, 0)
	require.Equal(t, []int64{10, 2, 3}, a)
	require.Equal(t, []int32{4, 50}, b)
}

package vector

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Sums of any length and alignment are those of a loop, bit for bit, and nothing beside
// them is touched.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, "float32", Float32, math.Float32frombits)
		check(t, "float64", Float64, math.Float64frombits)
		check(t, "uint32", Uint32, func(x uint32) uint32 { return x })
		check(t, "uint64", Uint64, func(x uint64) uint64 { return x })
	})
}

func check[T float32 | float64 | uint32 | uint64, B uint32 | uint64](t *rapid.T, name string, sum func(in, inout []T),
	of func(bits B) T) {
	n, shift := rapid.IntRange(0, 100).Draw(t, name), rapid.IntRange(0, 3).Draw(t, "shift")
	vector := func(label string) []T {
		v := make([]T, n+shift+1)
		for i := range v {
			v[i] = of(rapid.Make[B]().Draw(t, label))
		}
		return v
	}
	in, inout := vector("in"), vector("inout")
	want := append([]T(nil), inout...)
	for i := range n {
		want[shift+i] = in[shift+i] + want[shift+i]
	}
	sum(in[shift:shift+n], inout[shift:shift+n])
	require.Equal(t, bits[T, B](want), bits[T, B](inout))
	sum(want[shift:shift+n], want[shift:shift+n]) // the same memory
	for i := range n {
		inout[shift+i] += inout[shift+i]
	}
	require.Equal(t, bits[T, B](inout), bits[T, B](want))
}

// bits makes NaNs comparable.
func bits[T float32 | float64 | uint32 | uint64, B uint32 | uint64](v []T) []B {
	return unsafe.Slice((*B)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

func TestLengthsThatDiffer(t *testing.T) {
	require.Panics(t, func() { Float32(make([]float32, 64), make([]float32, 63)) })
}

func BenchmarkFloat32(b *testing.B) {
	in, inout := make([]float32, 8192), make([]float32, 8192)
	b.SetBytes(int64(4 * len(in)))
	for b.Loop() {
		Float32(in, inout)
	}
}

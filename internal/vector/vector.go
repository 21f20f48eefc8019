// Package vector adds vectors element by element, which is the innermost loop of most
// reductions: with the processor's vector instructions on amd64, in Go elsewhere, and
// where the race detector shall see it.
package vector

// Float32 sets inout[i] to in[i] + inout[i]. inout is as long as in, and the same memory
// or apart from it; so it is with the others.
func Float32(in, inout []float32) { add(in, inout, addFloat32(in, inout[:len(in)])) }

// Float64 is Float32 for float64.
func Float64(in, inout []float64) { add(in, inout, addFloat64(in, inout[:len(in)])) }

// Uint32 is Float32 for uint32. Signed numbers are added alike.
func Uint32(in, inout []uint32) { add(in, inout, addUint32(in, inout[:len(in)])) }

// Uint64 is Float32 for uint64. Signed numbers are added alike.
func Uint64(in, inout []uint64) { add(in, inout, addUint64(in, inout[:len(in)])) }

// add adds the elements from the i-th on.
func add[T float32 | float64 | uint32 | uint64](in, inout []T, i int) {
	in, inout = in[i:], inout[i:]
	for i, v := range in {
		inout[i] = v + inout[i]
	}
}

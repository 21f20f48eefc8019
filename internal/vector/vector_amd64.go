//go:build !race

package vector

// Each adds the elements of as many whole blocks of 64 bytes as there are, and returns
// their number.

//go:noescape
func addFloat32(in, inout []float32) int

//go:noescape
func addFloat64(in, inout []float64) int

//go:noescape
func addUint32(in, inout []uint32) int

//go:noescape
func addUint64(in, inout []uint64) int

//go:build !amd64 || race

package vector

func addFloat32(in, inout []float32) int { return 0 }

func addFloat64(in, inout []float64) int { return 0 }

func addUint32(in, inout []uint32) int { return 0 }

func addUint64(in, inout []uint64) int { return 0 }

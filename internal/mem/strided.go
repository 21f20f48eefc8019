package mem

import "unsafe"

// Datatypes may reach from one object to another, or hold addresses: base is nil
// then. Both are beyond what checkptr takes for granted.

// Region returns n bytes, off bytes from base. No pointer beside the data ever
// exists that the collector could mistake for one to something else.
//
//go:nocheckptr
func Region(base unsafe.Pointer, off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(base, off)), n)
}

// Gather copies count blocks of size bytes to dst, the first of which begins off
// bytes from base, and each other stride bytes from the one before.
func Gather(dst []byte, base unsafe.Pointer, off, size, stride, count int) {
	_ = dst[:count*size]
	switch size {
	case 4:
		gather[uint32](dst, base, off, stride, count)
	case 8:
		gather[uint64](dst, base, off, stride, count)
	case 16:
		gather[[2]uint64](dst, base, off, stride, count)
	default:
		for range count {
			copy(dst[:size], Region(base, off, size))
			dst = dst[size:]
			off += stride
		}
	}
}

// Scatter is the inverse of Gather.
func Scatter(src []byte, base unsafe.Pointer, off, size, stride, count int) {
	_ = src[:count*size]
	switch size {
	case 4:
		scatter[uint32](src, base, off, stride, count)
	case 8:
		scatter[uint64](src, base, off, stride, count)
	case 16:
		scatter[[2]uint64](src, base, off, stride, count)
	default:
		for range count {
			copy(Region(base, off, size), src[:size])
			src = src[size:]
			off += stride
		}
	}
}

// The blocks need not be aligned: both supported architectures load and store
// words at any address.

//go:nocheckptr
func gather[T uint32 | uint64 | [2]uint64](dst []byte, base unsafe.Pointer, off, stride, count int) {
	var t T
	d := unsafe.Pointer(unsafe.SliceData(dst))
	for i := range count {
		*(*T)(unsafe.Add(d, i*int(unsafe.Sizeof(t)))) = *(*T)(unsafe.Add(base, off))
		off += stride
	}
}

//go:nocheckptr
func scatter[T uint32 | uint64 | [2]uint64](src []byte, base unsafe.Pointer, off, stride, count int) {
	var t T
	s := unsafe.Pointer(unsafe.SliceData(src))
	for i := range count {
		*(*T)(unsafe.Add(base, off)) = *(*T)(unsafe.Add(s, i*int(unsafe.Sizeof(t))))
		off += stride
	}
}

// GatherAt is Gather for blocks at listed displacements from base, off bytes
// further on.
func GatherAt(dst []byte, base unsafe.Pointer, off, size int, displs []int) {
	_ = dst[:len(displs)*size]
	switch size {
	case 4:
		gatherAt[uint32](dst, base, off, displs)
	case 8:
		gatherAt[uint64](dst, base, off, displs)
	case 16:
		gatherAt[[2]uint64](dst, base, off, displs)
	default:
		for _, d := range displs {
			copy(dst[:size], Region(base, off+d, size))
			dst = dst[size:]
		}
	}
}

// ScatterAt is the inverse of GatherAt.
func ScatterAt(src []byte, base unsafe.Pointer, off, size int, displs []int) {
	_ = src[:len(displs)*size]
	switch size {
	case 4:
		scatterAt[uint32](src, base, off, displs)
	case 8:
		scatterAt[uint64](src, base, off, displs)
	case 16:
		scatterAt[[2]uint64](src, base, off, displs)
	default:
		for _, d := range displs {
			copy(Region(base, off+d, size), src[:size])
			src = src[size:]
		}
	}
}

//go:nocheckptr
func gatherAt[T uint32 | uint64 | [2]uint64](dst []byte, base unsafe.Pointer, off int, displs []int) {
	var t T
	d := unsafe.Pointer(unsafe.SliceData(dst))
	for i, at := range displs {
		*(*T)(unsafe.Add(d, i*int(unsafe.Sizeof(t)))) = *(*T)(unsafe.Add(base, off+at))
	}
}

//go:nocheckptr
func scatterAt[T uint32 | uint64 | [2]uint64](src []byte, base unsafe.Pointer, off int, displs []int) {
	var t T
	s := unsafe.Pointer(unsafe.SliceData(src))
	for i, at := range displs {
		*(*T)(unsafe.Add(base, off+at)) = *(*T)(unsafe.Add(s, i*int(unsafe.Sizeof(t))))
	}
}

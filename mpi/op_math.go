package mpi

// The arithmetic of the predefined operators.

type integers interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type reals interface {
	integers | ~float32 | ~float64
}

type fields interface {
	reals | ~complex64 | ~complex128
}

func integer[T integers](k opKind) func(in, inout []T) {
	switch k {
	case opBand:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] &= v
			}
		}
	case opBor:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] |= v
			}
		}
	case opBxor:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] ^= v
			}
		}
	}
	return real[T](k)
}

func real[T reals](k opKind) func(in, inout []T) {
	switch k {
	case opMax:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = max(v, inout[i])
			}
		}
	case opMin:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = min(v, inout[i])
			}
		}
	case opLand:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = truth[T](v != 0 && inout[i] != 0)
			}
		}
	case opLor:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = truth[T](v != 0 || inout[i] != 0)
			}
		}
	case opLxor:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = truth[T]((v != 0) != (inout[i] != 0))
			}
		}
	}
	return field[T](k)
}

func field[T fields](k opKind) func(in, inout []T) {
	switch k {
	case opSum:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = v + inout[i]
			}
		}
	case opProd:
		return func(in, inout []T) {
			for i, v := range in {
				inout[i] = v * inout[i]
			}
		}
	}
	return nil
}

func logical(k opKind) func(in, inout []bool) {
	switch k {
	case opLand:
		return func(in, inout []bool) {
			for i, v := range in {
				inout[i] = v && inout[i]
			}
		}
	case opLor:
		return func(in, inout []bool) {
			for i, v := range in {
				inout[i] = v || inout[i]
			}
		}
	case opLxor:
		return func(in, inout []bool) {
			for i, v := range in {
				inout[i] = v != inout[i]
			}
		}
	}
	return nil
}

func truth[T reals](b bool) T {
	if b {
		return 1
	}
	return 0
}

package mpi

import (
	"reflect"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Op combines the elements of reductions (MPI_Op).
type Op struct {
	name    string
	kind    opKind
	user    any // func(in, inout []T)
	commute bool
}

type opKind uint8

const (
	opUser opKind = iota
	opSum
	opProd
	opMax
	opMin
	opLand
	opLor
	opBand
	opBor
	opBxor
)

// The predefined operators. Sum, Prod, Max and Min take numbers (Sum and Prod
// also complex ones), the logical ones numbers and booleans, the bitwise ones
// integers.
var (
	Sum  = Op{name: "Sum", kind: opSum, commute: true}
	Prod = Op{name: "Prod", kind: opProd, commute: true}
	Max  = Op{name: "Max", kind: opMax, commute: true}
	Min  = Op{name: "Min", kind: opMin, commute: true}
	Land = Op{name: "Land", kind: opLand, commute: true}
	Lor  = Op{name: "Lor", kind: opLor, commute: true}
	Band = Op{name: "Band", kind: opBand, commute: true}
	Bor  = Op{name: "Bor", kind: opBor, commute: true}
	Bxor = Op{name: "Bxor", kind: opBxor, commute: true}
)

// NewOp makes an operator of a function that sets inout[i] to the combination
// of in[i] and inout[i], where in comes from lower ranks (MPI_Op_create). It
// must be associative; commute says that the order of ranks does not matter.
func NewOp[T Element](f func(in, inout []T), commute bool) Op {
	return Op{name: "user operator on " + reflect.TypeFor[T]().String(), user: f, commute: commute}
}

// combiner returns the function that applies op to slices of T, nil if op is
// not defined for T.
func combiner[T Element](op Op) func(in, inout []T) {
	if op.kind == opUser {
		f, _ := op.user.(func(in, inout []T))
		return f
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int:
		return as[T](integer[int](op.kind))
	case reflect.Int8:
		return as[T](integer[int8](op.kind))
	case reflect.Int16:
		return as[T](integer[int16](op.kind))
	case reflect.Int32:
		return as[T](integer[int32](op.kind))
	case reflect.Int64:
		return as[T](integer[int64](op.kind))
	case reflect.Uint:
		return as[T](integer[uint](op.kind))
	case reflect.Uint8:
		return as[T](integer[uint8](op.kind))
	case reflect.Uint16:
		return as[T](integer[uint16](op.kind))
	case reflect.Uint32:
		return as[T](integer[uint32](op.kind))
	case reflect.Uint64:
		return as[T](integer[uint64](op.kind))
	case reflect.Uintptr:
		return as[T](integer[uintptr](op.kind))
	case reflect.Float32:
		return as[T](real[float32](op.kind))
	case reflect.Float64:
		return as[T](real[float64](op.kind))
	case reflect.Complex64:
		return as[T](field[complex64](op.kind))
	case reflect.Complex128:
		return as[T](field[complex128](op.kind))
	case reflect.Bool:
		return as[T](logical(op.kind))
	}
	return nil
}

// as lets a function on U work on a type of the same kind.
func as[T, U any](f func(in, inout []U)) func(in, inout []T) {
	if f == nil {
		return nil
	}
	if g, ok := any(f).(func(in, inout []T)); ok {
		return g
	}
	return func(in, inout []T) { f(mem.As[U](in), mem.As[U](inout)) }
}

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
	}
	return nil
}

func truth[T reals](b bool) T {
	if b {
		return 1
	}
	return 0
}

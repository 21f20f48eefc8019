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
	opKinds
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
	if op.kind == opUser { // also the zero Op
		f, _ := op.user.(func(in, inout []T))
		return f
	}
	k := reflect.TypeFor[T]().Kind()
	if k > reflect.Complex128 {
		return nil
	}
	f := combiners[op.kind][k]
	if g, ok := f.(func(in, inout []T)); ok || f == nil {
		return g
	}
	return retype[T](k, f)
}

// combiners holds, by operator and kind of element, the func(in, inout []U)
// for the predeclared type U of that kind, nil where there is none.
var combiners [opKinds][reflect.Complex128 + 1]any

func init() {
	for op := opSum; op < opKinds; op++ {
		for k, f := range map[reflect.Kind]any{
			reflect.Int: integer[int](op), reflect.Int8: integer[int8](op), reflect.Int16: integer[int16](op),
			reflect.Int32: integer[int32](op), reflect.Int64: integer[int64](op),
			reflect.Uint: integer[uint](op), reflect.Uint8: integer[uint8](op), reflect.Uint16: integer[uint16](op),
			reflect.Uint32: integer[uint32](op), reflect.Uint64: integer[uint64](op), reflect.Uintptr: integer[uintptr](op),
			reflect.Float32: real[float32](op), reflect.Float64: real[float64](op),
			reflect.Complex64: field[complex64](op), reflect.Complex128: field[complex128](op),
			reflect.Bool: logical(op),
		} {
			if !reflect.ValueOf(f).IsNil() {
				combiners[op][k] = f
			}
		}
	}
}

// retype lets a function on the predeclared type of a kind work on a named
// type T of that kind.
func retype[T any](k reflect.Kind, f any) func(in, inout []T) {
	switch k {
	case reflect.Int:
		return as[T, int](f)
	case reflect.Int8:
		return as[T, int8](f)
	case reflect.Int16:
		return as[T, int16](f)
	case reflect.Int32:
		return as[T, int32](f)
	case reflect.Int64:
		return as[T, int64](f)
	case reflect.Uint:
		return as[T, uint](f)
	case reflect.Uint8:
		return as[T, uint8](f)
	case reflect.Uint16:
		return as[T, uint16](f)
	case reflect.Uint32:
		return as[T, uint32](f)
	case reflect.Uint64:
		return as[T, uint64](f)
	case reflect.Uintptr:
		return as[T, uintptr](f)
	case reflect.Float32:
		return as[T, float32](f)
	case reflect.Float64:
		return as[T, float64](f)
	case reflect.Complex64:
		return as[T, complex64](f)
	case reflect.Complex128:
		return as[T, complex128](f)
	default:
		return as[T, bool](f)
	}
}

func as[T, U any](f any) func(in, inout []T) {
	g := f.(func(in, inout []U))
	return func(in, inout []T) { g(mem.As[U](in), mem.As[U](inout)) }
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

package mpi

import (
	"reflect"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Op combines the elements of reductions (MPI_Op): a predefined one, as Sum, or what NewOp
// makes of a function.
type Op struct {
	name    string
	kind    opKind
	commute bool
	elem    reflect.Type // of NewOp
	user    combiner     // of NewOp
	raw     OpFunc       // of NewOpFunc
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
	opLxor
	opBand
	opBor
	opBxor
	opMinLoc
	opMaxLoc
	opReplace
	opNoOp
	opKinds
)

// The predefined operators. Sum, Prod, Max and Min take numbers (Sum and Prod
// also complex ones), the logical ones numbers and booleans, the bitwise ones
// integers and bytes. MinLoc and MaxLoc take pairs of a value and an index, see
// Located. Replace and NoOp take everything: they set the result to the one with
// the highest rank, or the lowest.
var (
	Sum     = Op{name: "Sum", kind: opSum, commute: true}
	Prod    = Op{name: "Prod", kind: opProd, commute: true}
	Max     = Op{name: "Max", kind: opMax, commute: true}
	Min     = Op{name: "Min", kind: opMin, commute: true}
	Land    = Op{name: "Land", kind: opLand, commute: true}
	Lor     = Op{name: "Lor", kind: opLor, commute: true}
	Lxor    = Op{name: "Lxor", kind: opLxor, commute: true}
	Band    = Op{name: "Band", kind: opBand, commute: true}
	Bor     = Op{name: "Bor", kind: opBor, commute: true}
	Bxor    = Op{name: "Bxor", kind: opBxor, commute: true}
	MinLoc  = Op{name: "MinLoc", kind: opMinLoc, commute: true}
	MaxLoc  = Op{name: "MaxLoc", kind: opMaxLoc, commute: true}
	Replace = Op{name: "Replace", kind: opReplace}
	NoOp    = Op{name: "NoOp", kind: opNoOp}
)

// Located is a value with an index, for MinLoc and MaxLoc: of the smallest or
// largest values they keep the one with the lowest index. Any struct of two
// numbers, the second an integer, serves as well.
type Located[T any] struct {
	Value T
	Index int32
}

// NewOp makes an operator of a function that sets inout[i] to the combination
// of in[i] and inout[i], where in comes from lower ranks (MPI_Op_create). It
// must be associative; commute says that the order of ranks does not matter. The
// function may be called with any part of a vector, from any goroutine, and must
// make no MPI calls.
func NewOp[T Element](f func(in, inout []T), commute bool) Op {
	return Op{
		name: "user operator on " + reflect.TypeFor[T]().String(), commute: commute,
		elem: reflect.TypeFor[T](), user: onBytes(f),
	}
}

// OpFunc is a user operator on count elements of any type: it sets inout to the
// combination of in and inout.
type OpFunc func(in, inout unsafe.Pointer, count int, t *datatype.Type)

// NewOpFunc is NewOp for operators that look at the datatype themselves.
func NewOpFunc(f OpFunc, commute bool) Op {
	return Op{name: "user operator", commute: commute, raw: f}
}

// Commutes reports whether the order of ranks does not matter
// (MPI_Op_commutative).
func (o Op) Commutes() bool { return o.commute }

func (o Op) String() string { return o.name }

// refusal tells why the operator does not serve a call.
func (o Op) refusal() string {
	if o.kind == opUser && o.user == nil && o.raw == nil {
		return "it has no function: use a predefined operator, or one that NewOp makes of a function"
	}
	return o.name + " does not take elements of this type"
}

// combiner combines elements: inout = in op inout, where in is of lower ranks.
// Both are of equal length, a whole number of elements.
type combiner func(in, inout []byte)

// onBytes turns a function on elements into one on their memory.
func onBytes[T any](f func(in, inout []T)) combiner {
	if f == nil {
		return nil
	}
	return func(in, inout []byte) { f(mem.Slice[T](in), mem.Slice[T](inout)) }
}

// reducer is an operator as applied to the elements of a call.
type reducer struct {
	apply combiner
	raw   OpFunc // instead of apply
	t     *datatype.Type
	step  int // bytes from one element to the next
	at    int // of an element behind the beginning of its step; then one by one
	apart bool
	own   bool // an operator of the program
}

func (r *reducer) combine(in, inout []byte) {
	if r.apply != nil {
		r.apply(in, inout)
		return
	}
	a, b := unsafe.Pointer(unsafe.SliceData(in)), unsafe.Pointer(unsafe.SliceData(inout))
	if !r.apart {
		r.raw(a, b, len(inout)/r.step, r.t)
		return
	}
	for i := r.at; i-r.at < len(inout); i += r.step {
		r.raw(unsafe.Add(a, i), unsafe.Add(b, i), 1, r.t)
	}
}

// reducerOf returns the reducer of op for elements of T; ok is false if op is
// not defined for them.
func reducerOf[T Element](op Op) (r reducer, ok bool) {
	switch {
	case op.raw != nil:
		t, err := datatype.Of[T]()
		return reducer{raw: op.raw, t: t, step: max(1, mem.Size[T]()), own: true}, err == nil
	case op.kind == opUser: // also the zero Op
		return reducer{apply: op.user, own: true}, op.user != nil && op.elem == reflect.TypeFor[T]()
	}
	r.apply = opOn(op.kind, kindOf[T]())
	return r, r.apply != nil
}

// reducerOn is reducerOf for elements of a datatype, seen on a scale.
func reducerOn(op Op, t *datatype.Type, sc scale) (r reducer, ok bool) {
	switch {
	case op.raw != nil:
		return reducer{raw: op.raw, t: t, step: max(1, sc.elem), at: sc.origin, apart: sc.t != t, own: true}, true
	case op.kind == opUser:
		return r, false
	}
	r.apply = opOn(op.kind, t.Kind())
	return r, r.apply != nil
}

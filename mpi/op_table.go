package mpi

import (
	"reflect"
	"sync"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/vector"
)

// The predefined operators as functions on memory, by operator and kind of
// element: one table for calls with Go types and with datatypes.

// basicOps holds the operators on basic kinds, nil where there is none.
var basicOps [opKinds][datatype.KindComplex128 + 1]combiner

// pairOps holds MinLoc and MaxLoc.
var pairOps = map[datatype.Kind][2]combiner{}

// opOn returns the function of an operator for a kind, nil if there is
// none. Replace and NoOp take elements of every kind.
func opOn(op opKind, k datatype.Kind) combiner {
	switch {
	case op == opReplace:
		return func(in, inout []byte) {} // inout is of higher ranks
	case op == opNoOp:
		return func(in, inout []byte) { copy(inout, in) }
	case op == opMinLoc || op == opMaxLoc:
		return pairOps[k][op-opMinLoc]
	case int(k) < len(basicOps[op]):
		return basicOps[op][k]
	}
	return nil
}

func init() {
	for op := opSum; op <= opBxor; op++ {
		of := &basicOps[op]
		of[datatype.KindInt8], of[datatype.KindUint8] = onBytes(integer[int8](op)), onBytes(integer[uint8](op))
		of[datatype.KindInt16], of[datatype.KindUint16] = onBytes(integer[int16](op)), onBytes(integer[uint16](op))
		of[datatype.KindInt32], of[datatype.KindUint32] = onBytes(integer[int32](op)), onBytes(integer[uint32](op))
		of[datatype.KindInt64], of[datatype.KindUint64] = onBytes(integer[int64](op)), onBytes(integer[uint64](op))
		of[datatype.KindFloat32], of[datatype.KindFloat64] = onBytes(real[float32](op)), onBytes(real[float64](op))
		of[datatype.KindComplex64], of[datatype.KindComplex128] = onBytes(field[complex64](op)),
			onBytes(field[complex128](op))
		of[datatype.KindBool] = onBytes(logical(op))
		if op >= opBand {
			of[datatype.KindByte] = onBytes(integer[uint8](op))
		}
	}
	sums := &basicOps[opSum]
	sums[datatype.KindInt32], sums[datatype.KindUint32] = onBytes(vector.Uint32), onBytes(vector.Uint32)
	sums[datatype.KindInt64], sums[datatype.KindUint64] = onBytes(vector.Uint64), onBytes(vector.Uint64)
	sums[datatype.KindFloat32], sums[datatype.KindFloat64] = onBytes(vector.Float32), onBytes(vector.Float64)
	located[int8](datatype.KindInt8)
	located[int16](datatype.KindInt16)
	located[int32](datatype.KindInt32)
	located[int64](datatype.KindInt64)
	located[uint8](datatype.KindUint8)
	located[uint16](datatype.KindUint16)
	located[uint32](datatype.KindUint32)
	located[uint64](datatype.KindUint64)
	located[float32](datatype.KindFloat32)
	located[float64](datatype.KindFloat64)
	// Fortran's pairs have an index of the kind of the value.
	pairOps[datatype.Pair(datatype.KindFloat32, datatype.KindFloat32)] = loc[float32, float32]()
	pairOps[datatype.Pair(datatype.KindFloat64, datatype.KindFloat64)] = loc[float64, float64]()
}

func located[V reals](k datatype.Kind) {
	indexed[V, int8](k, datatype.KindInt8)
	indexed[V, int16](k, datatype.KindInt16)
	indexed[V, int32](k, datatype.KindInt32)
	indexed[V, int64](k, datatype.KindInt64)
	indexed[V, uint8](k, datatype.KindUint8)
	indexed[V, uint16](k, datatype.KindUint16)
	indexed[V, uint32](k, datatype.KindUint32)
	indexed[V, uint64](k, datatype.KindUint64)
}

func indexed[V, I reals](value, index datatype.Kind) {
	pairOps[datatype.Pair(value, index)] = loc[V, I]()
}

// loc returns MinLoc and MaxLoc.
func loc[V, I reals]() [2]combiner {
	type pair struct {
		v V
		i I
	}
	min := func(in, inout []pair) {
		for i, a := range in {
			if b := &inout[i]; a.v < b.v || a.v == b.v && a.i < b.i {
				*b = a
			}
		}
	}
	max := func(in, inout []pair) {
		for i, a := range in {
			if b := &inout[i]; a.v > b.v || a.v == b.v && a.i < b.i {
				*b = a
			}
		}
	}
	return [2]combiner{onBytes(min), onBytes(max)}
}

// kinds of Go's predeclared types.
var kinds = [reflect.Complex128 + 1]datatype.Kind{
	reflect.Bool: datatype.KindBool,
	reflect.Int:  datatype.KindInt64, reflect.Int8: datatype.KindInt8, reflect.Int16: datatype.KindInt16,
	reflect.Int32: datatype.KindInt32, reflect.Int64: datatype.KindInt64,
	reflect.Uint: datatype.KindUint64, reflect.Uint8: datatype.KindUint8, reflect.Uint16: datatype.KindUint16,
	reflect.Uint32: datatype.KindUint32, reflect.Uint64: datatype.KindUint64, reflect.Uintptr: datatype.KindUint64,
	reflect.Float32: datatype.KindFloat32, reflect.Float64: datatype.KindFloat64,
	reflect.Complex64: datatype.KindComplex64, reflect.Complex128: datatype.KindComplex128,
}

// compositeKinds remembers those of composite types.
var compositeKinds sync.Map // reflect.Type -> datatype.Kind

// kindOf returns what reductions see of elements of T, 0 if nothing. Composite
// types are pairs or nothing: a struct of several equal numbers is no element.
func kindOf[T Element]() datatype.Kind {
	t := reflect.TypeFor[T]()
	if k := t.Kind(); k <= reflect.Complex128 {
		return kinds[k]
	}
	if k, ok := compositeKinds.Load(t); ok {
		return k.(datatype.Kind)
	}
	var k datatype.Kind
	if d, err := datatype.OfGo(t); err == nil {
		if _, _, pair := d.Kind().Pair(); pair && t.NumField() == 2 {
			k = d.Kind()
		}
	}
	compositeKinds.Store(t, k)
	return k
}

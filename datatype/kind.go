package datatype

import (
	"fmt"
	"unsafe"
)

// Kind is what reductions see of an element: a basic kind, or a pair of a value
// and an index for MPI_MINLOC and MPI_MAXLOC. It is 0 for types whose elements
// are of several kinds.
type Kind uint16

// The basic kinds. Go's int, uint and uintptr count as 64-bit integers, C's types
// as the kind of their size. KindByte is uninterpreted (MPI_BYTE, MPI_PACKED); the
// long doubles of C are moved but not computed with.
//
//exanet:c KIND_
const (
	KindByte Kind = 1 + iota
	KindBool
	KindInt8
	KindInt16
	KindInt32
	KindInt64
	KindUint8
	KindUint16
	KindUint32
	KindUint64
	KindFloat32
	KindFloat64
	KindComplex64
	KindComplex128
	KindLongDouble
	KindLongDoubleComplex
	basicKinds
)

// pairShift is where a pair keeps the kind of its index.
const pairShift = 8

// Pair returns the kind of a value with its index.
func Pair(value, index Kind) Kind { return value | index<<pairShift }

// Pair returns the two kinds of a pair; ok is false for the other kinds.
func (k Kind) Pair() (value, index Kind, ok bool) {
	return k & (1<<pairShift - 1), k >> pairShift, k>>pairShift != 0
}

// basics describes the basic kinds. The sizes and alignments, in bytes, are those
// of C and Go on 64-bit machines.
var basics = [basicKinds]struct {
	name        string
	size, align int
	swap        int // bytes that change order together between byte orders
}{
	KindByte:              {"byte", 1, 1, 1},
	KindBool:              {"bool", 1, 1, 1},
	KindInt8:              {"int8", 1, 1, 1},
	KindInt16:             {"int16", 2, 2, 2},
	KindInt32:             {"int32", 4, 4, 4},
	KindInt64:             {"int64", 8, 8, 8},
	KindUint8:             {"uint8", 1, 1, 1},
	KindUint16:            {"uint16", 2, 2, 2},
	KindUint32:            {"uint32", 4, 4, 4},
	KindUint64:            {"uint64", 8, 8, 8},
	KindFloat32:           {"float32", 4, 4, 4},
	KindFloat64:           {"float64", 8, 8, 8},
	KindComplex64:         {"complex64", 8, int(unsafe.Alignof(complex64(0))), 4},
	KindComplex128:        {"complex128", 16, int(unsafe.Alignof(complex128(0))), 8},
	KindLongDouble:        {"long double", 16, 16, 0},
	KindLongDoubleComplex: {"long double complex", 32, 16, 0},
}

func (k Kind) String() string {
	if v, i, ok := k.Pair(); ok {
		return fmt.Sprintf("{%v, %v}", v, i)
	}
	if k == 0 || k >= basicKinds {
		return "mixed"
	}
	return basics[k].name
}

// The predefined types.
var (
	Byte              = basic(KindByte)
	Bool              = basic(KindBool)
	Int8              = basic(KindInt8)
	Int16             = basic(KindInt16)
	Int32             = basic(KindInt32)
	Int64             = basic(KindInt64)
	Uint8             = basic(KindUint8)
	Uint16            = basic(KindUint16)
	Uint32            = basic(KindUint32)
	Uint64            = basic(KindUint64)
	Float32           = basic(KindFloat32)
	Float64           = basic(KindFloat64)
	Complex64         = basic(KindComplex64)
	Complex128        = basic(KindComplex128)
	LongDouble        = basic(KindLongDouble)
	LongDoubleComplex = basic(KindLongDoubleComplex)
)

// The pair types of MPI for C, laid out as C does: the padding is part of the
// extent but not of the data.
var (
	FloatInt      = pair(Float32, Int32)    // MPI_FLOAT_INT
	DoubleInt     = pair(Float64, Int32)    // MPI_DOUBLE_INT
	LongInt       = pair(Int64, Int32)      // MPI_LONG_INT
	TwoInt        = pair(Int32, Int32)      // MPI_2INT
	ShortInt      = pair(Int16, Int32)      // MPI_SHORT_INT
	LongDoubleInt = pair(LongDouble, Int32) // MPI_LONG_DOUBLE_INT
)

func basic(k Kind) *Type {
	b := basics[k]
	t := &Type{
		name: b.name, size: b.size, ub: b.size, trueUB: b.size, align: b.align, elements: 1, kind: k,
		root: block(0, b.size), env: Envelope{Combiner: CombinerNamed},
	}
	t.basic = t
	return t
}

// pair makes the type of a value with its index.
func pair(value, index *Type) *Type {
	at := roundUp(value.size, index.align)
	t, err := Struct([]int{1, 1}, []int{0, at}, []*Type{value, index})
	if err != nil {
		panic(err) // two basic types make a valid struct
	}
	t.kind = Pair(value.kind, index.kind)
	t.basic = t
	t.name = t.kind.String()
	t.env = Envelope{Combiner: CombinerNamed}
	return t
}

func roundUp(n, align int) int { return (n + align - 1) / align * align }

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// Datatypes are the host's. What one means is read off its envelope when it is
// first used, and forgotten when it is freed.

var predefined = map[string]*datatype.Type{
	"Byte": datatype.Byte, "Bool": datatype.Bool,
	"Int8": datatype.Int8, "Int16": datatype.Int16, "Int32": datatype.Int32, "Int64": datatype.Int64,
	"Uint8": datatype.Uint8, "Uint16": datatype.Uint16, "Uint32": datatype.Uint32, "Uint64": datatype.Uint64,
	"Float32": datatype.Float32, "Float64": datatype.Float64, "LongDouble": datatype.LongDouble,
	"Complex64": datatype.Complex64, "Complex128": datatype.Complex128, "LongDoubleComplex": datatype.LongDoubleComplex,
	"FloatInt": datatype.FloatInt, "DoubleInt": datatype.DoubleInt, "LongInt": datatype.LongInt,
	"ShortInt": datatype.ShortInt, "TwoInt": datatype.TwoInt, "LongDoubleInt": datatype.LongDoubleInt,
	"TwoFloat32": pairOf[float32](), "TwoFloat64": pairOf[float64](), "TwoComplex64": pairOf[complex64](),
	"TwoComplex128": pairOf[complex128](),
}

// pairOf is a Fortran pair, whose index is of the kind of the value.
func pairOf[T any]() *datatype.Type {
	t, err := datatype.OfGo(reflect.TypeFor[struct{ V, I T }]())
	if err != nil {
		panic(err)
	}
	return t
}

// types are those of the host that are predefined or have been used. basicTypes are the predefined ones;
// operands which groups of operators there are for them; hostOnly those with which the host computes.
var (
	types      objects[datatype.Type]
	basicTypes = map[handle]*datatype.Type{}
	operands   = map[handle]C.int{}
	hostOnly   = map[handle]bool{}
)

func init() {
	for p := C.exanet_types; p.name != nil; p = (*C.struct_exanet_type)(unsafe.Add(unsafe.Pointer(p),
		C.sizeof_struct_exanet_type)) {
		h := handleOf(p._type)
		if h == noType {
			continue
		}
		basicTypes[h] = predefined[C.GoString(p.name)]
		types.set(h, basicTypes[h])
		operands[h] = p.operators
		hostOnly[h] = p.host_only != 0
	}
}

// typeOf returns what a datatype of the host means.
func typeOf(h handle) (*datatype.Type, error) {
	if t := types.get(h); t != nil {
		return t, nil
	}
	if h == noType || C.exanet_takes(1, as[C.MPI_Datatype](h)) == 0 {
		return nil, badArgument(mpi.ErrType)
	}
	t, err := read(h)
	if err != nil {
		return nil, err
	}
	C.exanet_watch(as[C.MPI_Datatype](h))
	types.set(h, t)
	return t, nil
}

// exanet_freed forgets a datatype. The host says that it frees one by an attribute
// (exanet_watch): its own wrappers for Fortran free some under a name that is not
// intercepted, MPI_Type_free does not free what is still in use, and the next type
// has the same handle.
//
//export exanet_freed
func exanet_freed(t C.MPI_Datatype) { types.set(handleOf(t), nil) }

// badType says that a datatype cannot be used.
func badType(why string) error { return fmt.Errorf("%w: %s", mpi.ErrType, why) }

// elements is typeOf for that many elements.
func elements(count int64, h handle) (*datatype.Type, error) {
	t, err := typeOf(h)
	if err != nil && count == 0 && C.exanet_takes(0, as[C.MPI_Datatype](h)) != 0 {
		return datatype.Byte, nil
	}
	return t, err
}

func badArgument(err error) error { return fmt.Errorf("%w: %w", err, errArgument) }

// dataOf is MPI's (buf, count, datatype).
func dataOf(buf unsafe.Pointer, count int64, h handle) (mpi.Data, error) {
	if buf == nil && count > 0 && basicTypes[h] != nil {
		return mpi.Data{}, badArgument(mpi.ErrBuffer)
	}
	t, err := elements(count, h)
	if err != nil {
		return mpi.Data{}, err
	}
	return mpi.At(buf, int(count), t), nil
}

// viewOf is dataOf for collectives.
func viewOf(buf unsafe.Pointer, count int64, h handle) (datatype.View, error) {
	if uintptr(buf) == inPlace {
		return mpi.InPlace, nil
	}
	t, err := elements(count, h)
	if err != nil {
		return datatype.View{}, err
	}
	v, err := datatype.At(buf, int(count), t)
	switch {
	case errors.Is(err, datatype.ErrArg):
		return v, fmt.Errorf("%w: %w", mpi.ErrBuffer, err)
	case err != nil:
		return v, fmt.Errorf("%w: %w", mpi.ErrCount, err)
	}
	return v, nil
}

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// inPlace is the address that the entry points put for MPI_IN_PLACE.
const inPlace = ^uintptr(0)

var ours = map[string]mpi.Op{
	"Sum": mpi.Sum, "Prod": mpi.Prod, "Max": mpi.Max, "Min": mpi.Min,
	"Land": mpi.Land, "Lor": mpi.Lor, "Lxor": mpi.Lxor, "Band": mpi.Band, "Bor": mpi.Bor, "Bxor": mpi.Bxor,
	"MinLoc": mpi.MinLoc, "MaxLoc": mpi.MaxLoc,
}

// basicOps are the host's predefined operators for reductions, with the group of
// types that they are for.
var basicOps = map[handle]struct {
	op    mpi.Op
	group C.int
}{}

func init() {
	for p := C.exanet_ops; p.name != nil; p = (*C.struct_exanet_op)(unsafe.Add(unsafe.Pointer(p),
		C.sizeof_struct_exanet_op)) {
		basicOps[handleOf(p.op)] = struct {
			op    mpi.Op
			group C.int
		}{ours[C.GoString(p.name)], p.group}
		byHost[handleOf(p.op)] = new(applied)
	}
}

// userOp is an operator that the program has made.
type userOp struct {
	f       unsafe.Pointer
	form    C.int // of f, as handles.h has them
	commute bool
	applied *applied
}

// applied are the operators that the host computes with, or functions of the
// program, as applied to elements of a datatype. A handle that is used again for
// another type needs no other one.
type applied struct {
	sync.Mutex
	to map[handle]mpi.Op
}

func (a *applied) op(elements handle, f func() mpi.Op) mpi.Op {
	a.Lock()
	defer a.Unlock()
	op, ok := a.to[elements]
	if !ok {
		op = f()
		if a.to == nil {
			a.to = make(map[handle]mpi.Op)
		}
		a.to[elements] = op
	}
	return op
}

// byHost are those with which the host computes, by its operator.
var byHost = map[handle]*applied{}

var userOps objects[userOp]

//export exanet_Op_create
func exanet_Op_create(f unsafe.Pointer, commute int32, op unsafe.Pointer, form int32) int64 {
	userOps.set(*handleAt(op), &userOp{f, C.int(form), commute != 0, new(applied)})
	return 0
}

// Requests under way keep the function.
//
//export exanet_Op_free
func exanet_Op_free(op unsafe.Pointer) int64 {
	userOps.set(*handleAt(op), nil)
	return 0
}

// opOf returns an operator for elements of a datatype, both the host's. User
// functions see the host's datatype. So does the host itself, which computes with
// the types that Go does not have.
func opOf(h, elements handle) (mpi.Op, error) {
	t := as[C.MPI_Datatype](elements)
	if basic, ok := basicOps[h]; ok {
		if operands[elements]&basic.group == 0 { // derived types have none
			return mpi.Op{}, fmt.Errorf("%w: there is none of that name for this datatype", mpi.ErrOp)
		}
		if !hostOnly[elements] {
			return basic.op, nil
		}
		host := as[C.MPI_Op](h)
		return byHost[h].op(elements, func() mpi.Op {
			return mpi.NewOpFunc(func(in, inout unsafe.Pointer, n int, _ *datatype.Type) {
				C.PMPI_Reduce_local(in, inout, C.int(n), t, host)
			}, true)
		}), nil
	}
	u := userOps.get(h)
	if u == nil {
		return mpi.Op{}, fmt.Errorf("%w: no such operator", mpi.ErrOp)
	}
	return u.applied.op(elements, func() mpi.Op {
		return mpi.NewOpFunc(func(in, inout unsafe.Pointer, n int, _ *datatype.Type) {
			C.exanet_call(u.f, u.form, in, inout, C.int64_t(n), t)
		}, u.commute)
	}), nil
}

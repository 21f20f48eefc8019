//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
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

// userOp is an operator that the program has made. The program and each request of ours that calls it hold it: when
// the last gives it up, the host frees it, and has the program end the function's state.
type userOp struct {
	f       unsafe.Pointer
	form    C.int       // of f, as handles.h has them
	state   C.uintptr_t // of f, for the form that has one
	commute bool
	applied applied
	handle  handle
	held    atomic.Int32
}

// made keeps an operator that the host has made.
func (u *userOp) made(op unsafe.Pointer) int64 {
	u.handle = *handleAt(op)
	u.held.Store(1)
	userOps.set(u.handle, u)
	return 0
}

func (u *userOp) hold() *userOp {
	if u != nil {
		u.held.Add(1)
	}
	return u
}

func (u *userOp) release() C.int {
	if u == nil || u.held.Add(-1) > 0 {
		return C.MPI_SUCCESS
	}
	op := as[C.MPI_Op](u.handle)
	return C.PMPI_Op_free(&op)
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
	return (&userOp{f: f, form: C.int(form), commute: commute != 0}).made(op)
}

// The host has what ends the state.
//
//export exanet_Op_create_x
func exanet_Op_create_x(f, _ unsafe.Pointer, commute int32, state int64, op unsafe.Pointer) int64 {
	return (&userOp{f: f, form: C.EXANET_STATE_FUNCTION, state: C.uintptr_t(state), commute: commute != 0}).made(op)
}

//export exanet_Op_free
func exanet_Op_free(op unsafe.Pointer) int64 {
	if op == nil {
		return pass
	}
	h := handleAt(op)
	u := userOps.get(*h)
	if u == nil {
		return pass
	}
	userOps.set(*h, nil) // before the host gives another operator its handle
	*h = handleOf(C.exanet_no_op)
	return hostFailed(u.release())
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
			C.exanet_call(u.f, u.form, u.state, in, inout, C.int64_t(n), t)
		}, u.commute)
	}), nil
}

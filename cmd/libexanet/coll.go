//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// collective makes a call in one of its forms, if the communicator is ours. The
// call is described by a function that stops at the first error in args.
func collective(comm handle, form int32, req unsafe.Pointer, describe func(c *mpi.Comm, a *args) mpi.DataCall) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	a := calls.take()
	defer a.give()
	a.ranks = c.Size()
	call := describe(c, a)
	err := a.err
	var q *mpi.Request
	switch {
	case err != nil:
	case form == C.EXANET_BEGIN:
		q, err = call.Begin()
	case form == C.EXANET_INIT:
		q, err = call.Init()
	default:
		err = call.Do()
		shareArea(comm, c)
	}
	switch {
	case err != nil && hostRefuses(err):
		return pass
	case err != nil || form == C.EXANET_DO:
		return result(comm, err)
	}
	return kept(request{q, comm, form == C.EXANET_INIT, a.user.hold()}, req)
}

// hostRefuses reports whether an error is of arguments that the host refuses, too,
// before it has sent anything: it is to say what is wrong, in its own words. Not
// all of them see all mistakes.
func hostRefuses(err error) bool {
	for _, e := range []error{errMisplaced, mpi.ErrType, mpi.ErrRoot, mpi.ErrTopology} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// errMisplaced is a buffer that the call does not take: MPI_IN_PLACE, or the other one.
var errMisplaced = errors.New("the call does not take this buffer")

// args turns arguments of the host into ours, and keeps the first error. Their
// lists are needed until the call has begun.
type args struct {
	lists
	ranks int
	user  *userOp // the operator, if it is one of the program's
	err   error
}

var calls pool[args]

func (a *args) give() {
	a.reset()
	a.user, a.err = nil, nil
	calls.give(a)
}

func (a *args) view(buf unsafe.Pointer, count int64, t handle) datatype.View {
	if a.err != nil {
		return datatype.View{}
	}
	v, err := viewOf(buf, count, t)
	a.err = err
	return v
}

// memory is view for a buffer that must not be MPI_IN_PLACE.
func (a *args) memory(buf unsafe.Pointer, count int64, t handle) datatype.View {
	a.placed(buf)
	return a.view(buf, count, t)
}

// placed checks that a buffer is not MPI_IN_PLACE.
func (a *args) placed(buf unsafe.Pointer) {
	if uintptr(buf) == inPlace && a.err == nil {
		a.err = errMisplaced
	}
}

// apart checks that the host, if it does that, would not find the same memory given
// for both buffers. What is read of the block at in begins there or, where that is a
// part of a longer buffer, displ elements later.
func (a *args) apart(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, displ, incount int64,
	intype handle) {
	if !refusesAliases || a.err != nil || out == nil || uintptr(out) == inPlace || outcount != incount ||
		outcount == 0 || outtype != intype {
		return
	}
	t := a.datatype(intype)
	if t == nil {
		return
	}
	_, extent := t.Extent()
	if out == unsafe.Add(in, int(displ)*extent) {
		a.err = fmt.Errorf("%w: it is that of the other data, too", mpi.ErrBuffer)
	}
}

// apartFrom is apart for a block of a vector.
func (a *args) apartFrom(out unsafe.Pointer, outcount int64, outtype handle, in mpi.Vector, block int, intype handle) {
	if a.err == nil && in.Displs != nil {
		a.apart(out, outcount, outtype, in.Base, int64(in.Displs[block]), int64(in.Counts[block]), intype)
	}
}

func (a *args) datatype(t handle) *datatype.Type {
	if a.err != nil {
		return nil
	}
	d, err := typeOf(t)
	a.err = err
	return d
}

func (a *args) op(op, t handle) mpi.Op {
	if a.err != nil {
		return mpi.Op{}
	}
	o, err := opOf(op, t)
	a.user, a.err = userOps.get(op), err
	return o
}

// vector is a block for each of n ranks.
func (a *args) vector(n int, base unsafe.Pointer, counts, displs unsafe.Pointer, t handle, large int32) mpi.Vector {
	a.placed(base)
	if a.err != nil {
		return mpi.Vector{}
	}
	return mpi.Vector{Base: base, Counts: a.ints(counts, n, large), Displs: a.ints(displs, n, large),
		Type: a.datatype(t)}
}

// each is vector with a datatype for each rank, and displacements in bytes.
func (a *args) each(base unsafe.Pointer, counts, displs []int, types unsafe.Pointer) mpi.Vector {
	a.placed(base)
	v := mpi.Vector{Base: base, Counts: counts, Displs: displs, Types: room(&a.types, len(counts))}
	for i, t := range unsafe.Slice(handleAt(types), len(counts)) {
		if counts[i] == 0 {
			v.Types[i] = datatype.Byte // what is not looked at need not be valid
		} else {
			v.Types[i] = a.datatype(t)
		}
	}
	return v
}

//export exanet_Barrier
func exanet_Barrier(comm handle, form int32, req unsafe.Pointer) int64 {
	c := commOf(comm)
	switch {
	case c == nil:
		return pass
	case form == C.EXANET_INIT:
		q, err := c.BarrierInit()
		return made(q, err, comm, true, req)
	case form == C.EXANET_BEGIN:
		q, err := c.Ibarrier()
		return made(q, err, comm, false, req)
	}
	err := c.Barrier()
	shareArea(comm, c)
	return result(comm, err)
}

//export exanet_Bcast
func exanet_Bcast(buf unsafe.Pointer, count int64, t handle, root int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		return c.BcastData(a.memory(buf, count, t), int(root))
	})
}

//export exanet_Gather
func exanet_Gather(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64, intype handle,
	root int32, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var recv datatype.View
		if c.Rank() == int(root) {
			recv = a.memory(in, incount, intype)
			a.apart(out, outcount, outtype, in, int64(root)*incount, incount, intype)
		}
		return c.GatherData(a.view(out, outcount, outtype), recv, int(root))
	})
}

//export exanet_Gatherv
func exanet_Gatherv(out unsafe.Pointer, outcount int64, outtype handle, in, incounts, displs unsafe.Pointer,
	intype handle, root int32, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var recv mpi.Vector
		if c.Rank() == int(root) {
			recv = a.vector(a.ranks, in, incounts, displs, intype, large)
			a.apartFrom(out, outcount, outtype, recv, int(root), intype)
		}
		return c.GathervData(a.view(out, outcount, outtype), recv, int(root))
	})
}

//export exanet_Scatter
func exanet_Scatter(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64, intype handle,
	root int32, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var send datatype.View
		if c.Rank() == int(root) {
			send = a.memory(out, outcount, outtype)
			a.apart(in, incount, intype, out, int64(root)*outcount, outcount, outtype)
		}
		return c.ScatterData(send, a.view(in, incount, intype), int(root))
	})
}

//export exanet_Scatterv
func exanet_Scatterv(out, outcounts, displs unsafe.Pointer, outtype handle, in unsafe.Pointer, incount int64,
	intype handle, root int32, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var send mpi.Vector
		if c.Rank() == int(root) {
			send = a.vector(a.ranks, out, outcounts, displs, outtype, large)
			a.apartFrom(in, incount, intype, send, int(root), outtype)
		}
		return c.ScattervData(send, a.view(in, incount, intype), int(root))
	})
}

//export exanet_Allgather
func exanet_Allgather(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64,
	intype handle, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.memory(in, incount, intype)
		a.apart(out, outcount, outtype, in, int64(c.Rank())*incount, incount, intype)
		return c.AllgatherData(a.view(out, outcount, outtype), recv)
	})
}

//export exanet_Allgatherv
func exanet_Allgatherv(out unsafe.Pointer, outcount int64, outtype handle, in, incounts, displs unsafe.Pointer,
	intype handle, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.vector(a.ranks, in, incounts, displs, intype, large)
		a.apartFrom(out, outcount, outtype, recv, c.Rank(), intype)
		return c.AllgathervData(a.view(out, outcount, outtype), recv)
	})
}

//export exanet_Alltoall
func exanet_Alltoall(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64,
	intype handle, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.memory(in, incount, intype)
		a.apart(out, outcount, outtype, in, 0, incount, intype)
		return c.AlltoallData(a.view(out, outcount, outtype), recv)
	})
}

//export exanet_Alltoallv
func exanet_Alltoallv(out, outcounts, outdispls unsafe.Pointer, outtype handle, in, incounts, indispls unsafe.Pointer,
	intype handle, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var send mpi.Vector // without counts: in place
		if uintptr(out) != inPlace {
			send = a.vector(a.ranks, out, outcounts, outdispls, outtype, large)
		}
		recv := a.vector(a.ranks, in, incounts, indispls, intype, large)
		if outcounts == incounts { // MPICH's notion of the same data
			a.apart(out, 1, outtype, in, 0, 1, intype)
		}
		return c.AlltoallvData(send, recv)
	})
}

//export exanet_Alltoallw
func exanet_Alltoallw(out, outcounts, outdispls, outtypes, in, incounts, indispls, intypes unsafe.Pointer, comm handle,
	form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var send mpi.Vector // without counts: in place
		if uintptr(out) != inPlace {
			send = a.each(out, a.ints(outcounts, a.ranks, large), a.ints(outdispls, a.ranks, large), outtypes)
		}
		recv := a.each(in, a.ints(incounts, a.ranks, large), a.ints(indispls, a.ranks, large), intypes)
		if outcounts == incounts && outtypes == intypes {
			a.apart(out, 1, handleOf(C.exanet_byte), in, 0, 1, handleOf(C.exanet_byte))
		}
		return c.AlltoallvData(send, recv)
	})
}

//export exanet_Reduce
func exanet_Reduce(out, in unsafe.Pointer, count int64, t, op handle, root int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		var recv datatype.View
		if c.Rank() == int(root) {
			recv = a.memory(in, count, t)
			if out == in && count > 0 && a.err == nil {
				a.err = errMisplaced // so say all hosts
			}
		}
		return c.ReduceData(a.view(out, count, t), recv, a.op(op, t), int(root))
	})
}

//export exanet_Allreduce
func exanet_Allreduce(out, in unsafe.Pointer, count int64, t, op, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.memory(in, count, t)
		a.apart(out, count, t, in, 0, count, t)
		return c.AllreduceData(a.view(out, count, t), recv, a.op(op, t))
	})
}

//export exanet_Reduce_scatter
func exanet_Reduce_scatter(out, in, counts unsafe.Pointer, t, op, comm handle, form int32, req unsafe.Pointer,
	large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		each, total := a.ints(counts, a.ranks, large), 0
		for _, n := range each {
			total += n
		}
		a.placed(in)
		a.apart(out, int64(total), t, in, 0, int64(total), t)
		return c.ReduceScatterData(out, in, uintptr(out) == inPlace, each, a.datatype(t), a.op(op, t))
	})
}

//export exanet_Reduce_scatter_block
func exanet_Reduce_scatter_block(out, in unsafe.Pointer, count int64, t, op, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		a.placed(in)
		a.apart(out, count, t, in, 0, count, t)
		return c.ReduceScatterBlockData(out, in, uintptr(out) == inPlace, int(count), a.datatype(t), a.op(op, t))
	})
}

//export exanet_Scan
func exanet_Scan(out, in unsafe.Pointer, count int64, t, op, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.memory(in, count, t)
		a.apart(out, count, t, in, 0, count, t)
		return c.ScanData(a.view(out, count, t), recv, a.op(op, t))
	})
}

//export exanet_Exscan
func exanet_Exscan(out, in unsafe.Pointer, count int64, t, op, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		recv := a.memory(in, count, t)
		a.apart(out, count, t, in, 0, count, t)
		return c.ExscanData(a.view(out, count, t), recv, a.op(op, t))
	})
}

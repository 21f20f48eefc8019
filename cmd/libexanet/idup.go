//go:build mpich || openmpi

package main

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// duplicates are those that Comm_idup makes. The host makes its own and we make
// ours, at the same time and in any order; so the program's request stands for two.
// It is a synchronous send of this rank to itself, of which the receive is posted when
// both have completed. Until then hostBusy counts each, whoever waits carries them on,
// and the host's handle, which the program has already, is of no communicator of ours.
var duplicates duplications

type duplications struct {
	n    atomic.Int32
	mu   sync.Mutex
	all  []*duplicate
	own  *mpi.Comm // of this rank alone, for what is sent
	sent int       // tags
}

type duplicate struct {
	parent   handle
	host     *C.struct_exanet_duplicate // in memory of C: the host keeps its address
	hostDone bool
	comm     *mpi.Comm
	request  *mpi.Request // nil: it has completed
	tag      int
}

func (l *duplications) underWay() bool { return l.n.Load() != 0 }

//export exanet_Comm_idup
func exanet_Comm_idup(comm handle, newcomm, request unsafe.Pointer) int64 {
	return idup(comm, newcomm, request, func(d *C.struct_exanet_duplicate) C.int {
		return C.exanet_idup(as[C.MPI_Comm](comm), d)
	})
}

//export exanet_Comm_idup_with_info
func exanet_Comm_idup_with_info(comm, info handle, newcomm, request unsafe.Pointer) int64 {
	return idup(comm, newcomm, request, func(d *C.struct_exanet_duplicate) C.int {
		return C.exanet_idup_with_info(as[C.MPI_Comm](comm), as[C.MPI_Info](info), d)
	})
}

func idup(parent handle, newcomm, request unsafe.Pointer, host func(*C.struct_exanet_duplicate) C.int) int64 {
	of := commOf(parent)
	if of == nil {
		return pass
	}
	d := &duplicate{parent: parent, host: (*C.struct_exanet_duplicate)(C.malloc(C.sizeof_struct_exanet_duplicate))}
	if code := host(d.host); code != C.MPI_SUCCESS {
		C.free(unsafe.Pointer(d.host))
		return hostFailed(code)
	}
	*handleAt(newcomm) = handleOf(d.host.made)
	var err error
	if d.comm, d.request, err = of.Idup(); err != nil {
		return result(parent, err)
	}
	q, err := duplicates.add(d)
	return made(q, err, parent, false, request)
}

// add begins to carry on a duplicate, and returns the program's request.
func (l *duplications) add(d *duplicate) (q *mpi.Request, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		if l.own, err = world().Self().Dup(); err != nil {
			return nil, err
		}
	}
	d.tag = l.sent
	l.sent = (l.sent + 1) % (1 << 15)
	if q, err = mpi.Issend(l.own, []byte(nil), 0, d.tag); err != nil {
		return nil, err
	}
	l.all = append(l.all, d)
	l.n.Add(1)
	hostBusy.count(1)
	return q, nil
}

// carryOn looks at all, unless another thread is doing so.
func (l *duplications) carryOn() {
	if !l.underWay() || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	left := l.all[:0]
	for _, d := range l.all {
		if !d.completed() {
			left = append(left, d)
			continue
		}
		d.report(l.receive(d.tag))
		l.n.Add(-1)
		hostBusy.count(-1)
	}
	clear(l.all[len(left):])
	l.all = left
}

// receive lets the program's request complete. It is called by whoever polls for all
// threads of the rank, so it must not wait: the receive is posted and left to itself.
func (l *duplications) receive(tag int) error {
	q, err := mpi.Irecv(l.own, []byte(nil), 0, tag)
	if err != nil {
		return err
	}
	return q.Free()
}

// completed tests both parts. When they have completed the communicator can be used.
func (d *duplicate) completed() bool {
	if !d.hostDone {
		var flag C.int
		code := C.exanet_test(&d.host.request, &flag, nil)
		d.hostDone = code != C.MPI_SUCCESS || flag != 0
	}
	if d.request != nil {
		done, _, err := d.request.Test()
		if err != nil {
			d.comm = nil
			d.report(err)
		}
		if done || err != nil {
			d.request = nil
		}
	}
	if !d.hostDone || d.request != nil {
		return false
	}
	C.PMPI_Comm_set_errhandler(d.host.made, d.host.handler)
	C.PMPI_Errhandler_free(&d.host.handler)
	if d.comm != nil {
		register(handleOf(d.host.made), d.comm)
	}
	C.free(unsafe.Pointer(d.host))
	return true
}

// report calls the error handler: no call of the program returns this error.
func (d *duplicate) report(err error) {
	if err != nil {
		C.PMPI_Comm_call_errhandler(as[C.MPI_Comm](d.parent), codeOf(err))
	}
}

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

//export exanet_Probe
func exanet_Probe(source, tag int32, comm handle, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	from, as := rankIn(source), tagIn(tag)
	st, err := c.Probe(from, as)
	return received(st, err, comm, status)
}

//export exanet_Iprobe
func exanet_Iprobe(source, tag int32, comm handle, flag, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	found, st, err := c.Iprobe(rankIn(source), tagIn(tag))
	setFlag(flag, found)
	if found {
		setStatus(status, st)
	} else {
		pollHost()
	}
	return refused(comm, err)
}

//export exanet_Mprobe
func exanet_Mprobe(source, tag int32, comm handle, msg, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	from, as := rankIn(source), tagIn(tag)
	m, st, err := c.Mprobe(from, as)
	return extracted(m, st, err, comm, from, msg, status)
}

//export exanet_Improbe
func exanet_Improbe(source, tag int32, comm handle, flag, msg, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	from := rankIn(source)
	m, st, err := c.Improbe(from, tagIn(tag))
	setFlag(flag, m != nil)
	if m == nil && err == nil {
		pollHost()
		return 0
	}
	return extracted(m, st, err, comm, from, msg, status)
}

// extracted hands a message to the program. From MPI_PROC_NULL comes the host's own.
func extracted(m *mpi.Message, st mpi.Status, err error, comm handle, from int, msg, status unsafe.Pointer) int64 {
	if err != nil {
		return refused(comm, err)
	}
	setStatus(status, st)
	if from == mpi.ProcNull {
		*handleAt(msg) = handleOf(C.exanet_message_no_proc)
		return 0
	}
	*handleAt(msg) = messageHandle(messages.put(message{m, comm}))
	return 0
}

// messageAt is the message of a handle, without Message if it is the host's.
func messageAt(p unsafe.Pointer) message { return messages.get(messageNumber(*handleAt(p))) }

//export exanet_Mrecv
func exanet_Mrecv(buf unsafe.Pointer, count int64, t handle, msg, status unsafe.Pointer) int64 {
	m := messageAt(msg)
	if m.Message == nil {
		return pass
	}
	d, err := dataOf(buf, count, t)
	if err != nil {
		return result(m.comm, err)
	}
	st, err := m.RecvData(d)
	if err == nil || errors.Is(err, mpi.ErrTruncate) || errors.Is(err, mpi.ErrProcFailed) {
		vanish(msg)
	}
	setStatus(status, st)
	return result(m.comm, err)
}

//export exanet_Imrecv
func exanet_Imrecv(buf unsafe.Pointer, count int64, t handle, msg, req unsafe.Pointer) int64 {
	m := messageAt(msg)
	if m.Message == nil {
		return pass
	}
	d, err := dataOf(buf, count, t)
	if err != nil {
		return result(m.comm, err)
	}
	q, err := m.IrecvData(d)
	if err == nil {
		vanish(msg)
	}
	return made(q, err, m.comm, false, req)
}

// vanish ends a message, whose handle is no longer valid.
func vanish(msg unsafe.Pointer) {
	h := handleAt(msg)
	messages.drop(messageNumber(*h))
	*h = noMessage
}

//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// sends are the forms of a kind of send.
type sends struct {
	do          func(*mpi.Comm, mpi.Data, int, int) error
	begin, init func(*mpi.Comm, mpi.Data, int, int) (*mpi.Request, error)
}

var (
	standard    = sends{(*mpi.Comm).SendData, (*mpi.Comm).IsendData, (*mpi.Comm).SendInitData}
	synchronous = sends{(*mpi.Comm).SsendData, (*mpi.Comm).IssendData, (*mpi.Comm).SsendInitData}
	ready       = sends{(*mpi.Comm).RsendData, (*mpi.Comm).IrsendData, (*mpi.Comm).RsendInitData}
	buffered    = sends{(*mpi.Comm).BsendData, (*mpi.Comm).IbsendData, (*mpi.Comm).BsendInitData}
)

func (s *sends) call(buf unsafe.Pointer, count int64, t handle, dest, tag int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	d, err := dataOf(buf, count, t)
	if err != nil {
		return refused(comm, err)
	}
	to, as := rankIn(dest), sentTag(tag)
	if form == C.EXANET_DO {
		return refused(comm, s.do(c, d, to, as))
	}
	post := s.begin
	if form == C.EXANET_INIT {
		post = s.init
	}
	q, err := post(c, d, to, as)
	return posted(q, err, comm, form == C.EXANET_INIT, req)
}

//export exanet_Send
func exanet_Send(buf unsafe.Pointer, count int64, t handle, dest, tag int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return standard.call(buf, count, t, dest, tag, comm, form, req)
}

//export exanet_Ssend
func exanet_Ssend(buf unsafe.Pointer, count int64, t handle, dest, tag int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return synchronous.call(buf, count, t, dest, tag, comm, form, req)
}

//export exanet_Rsend
func exanet_Rsend(buf unsafe.Pointer, count int64, t handle, dest, tag int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return ready.call(buf, count, t, dest, tag, comm, form, req)
}

//export exanet_Bsend
func exanet_Bsend(buf unsafe.Pointer, count int64, t handle, dest, tag int32, comm handle, form int32,
	req unsafe.Pointer) int64 {
	return buffered.call(buf, count, t, dest, tag, comm, form, req)
}

//export exanet_Recv
func exanet_Recv(buf unsafe.Pointer, count int64, t handle, source, tag int32, comm handle, form int32, req,
	status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	d, err := dataOf(buf, count, t)
	if err != nil {
		return refused(comm, err)
	}
	from, as := rankIn(source), tagIn(tag)
	switch form {
	case C.EXANET_BEGIN:
		q, err := c.IrecvData(d, from, as)
		return posted(q, err, comm, false, req)
	case C.EXANET_INIT:
		q, err := c.RecvInitData(d, from, as)
		return posted(q, err, comm, true, req)
	}
	st, err := c.RecvData(d, from, as)
	return received(st, err, comm, status)
}

//export exanet_Sendrecv
func exanet_Sendrecv(out unsafe.Pointer, outcount int64, outtype handle, dest, outtag int32, in unsafe.Pointer,
	incount int64, intype handle, source, intag int32, comm handle, form int32, req, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	send, err := dataOf(out, outcount, outtype)
	if err != nil {
		return refused(comm, err)
	}
	recv, err := dataOf(in, incount, intype)
	if err != nil {
		return refused(comm, err)
	}
	to, from, sent, wanted := rankIn(dest), rankIn(source), sentTag(outtag), tagIn(intag)
	if form == C.EXANET_DO {
		st, err := c.SendrecvData(send, to, sent, recv, from, wanted)
		return received(st, err, comm, status)
	}
	q, err := c.IsendrecvData(send, to, sent, recv, from, wanted)
	return posted(q, err, comm, false, req)
}

//export exanet_Sendrecv_replace
func exanet_Sendrecv_replace(buf unsafe.Pointer, count int64, t handle, dest, outtag, source, intag int32, comm handle,
	form int32, req, status unsafe.Pointer) int64 {
	c := commOf(comm)
	if c == nil {
		return pass
	}
	d, err := dataOf(buf, count, t)
	if err != nil {
		return refused(comm, err)
	}
	to, from, sent, wanted := rankIn(dest), rankIn(source), sentTag(outtag), tagIn(intag)
	if form == C.EXANET_DO {
		st, err := c.SendrecvReplaceData(d, to, sent, from, wanted)
		return received(st, err, comm, status)
	}
	q, err := c.IsendrecvReplaceData(d, to, sent, from, wanted)
	return posted(q, err, comm, false, req)
}

// posted is made, but the host says what is wrong with arguments.
func posted(q *mpi.Request, err error, comm handle, persistent bool, out unsafe.Pointer) int64 {
	if err != nil {
		return refused(comm, err)
	}
	return made(q, nil, comm, persistent, out)
}

// received is what a call returns that has received, or would not.
func received(st mpi.Status, err error, comm handle, status unsafe.Pointer) int64 {
	r := refused(comm, err)
	if r != pass {
		setStatus(status, st)
	}
	return r
}

// The buffers of buffered sends are attached to the host and to ours: each takes of
// them what it is said to have, ours in memory of its own. That of a communicator is
// room for all of ours, which a program that keeps within its buffers does not notice.
var commBuffers struct {
	sync.Mutex
	size map[handle]int
}

// bufferSize is what MPI_BUFFER_AUTOMATIC, for which inPlace stands, makes of a size.
func bufferSize(buf unsafe.Pointer, size int64) int {
	if uintptr(buf) == inPlace {
		return 1 << 50
	}
	return int(size)
}

//export exanet_Buffer_attach
func exanet_Buffer_attach(buf unsafe.Pointer, size int64) int64 {
	return result(worldHandle, world().AttachBuffer(bufferSize(buf, size)))
}

//export exanet_Buffer_detach
func exanet_Buffer_detach(address, size unsafe.Pointer, large int32) int64 {
	if _, err := world().DetachBuffer(); err != nil {
		return pass // the host says what is wrong
	}
	return 0
}

//export exanet_Comm_attach_buffer
func exanet_Comm_attach_buffer(comm handle, buf unsafe.Pointer, size int64) int64 {
	if known(comm) == nil {
		return pass
	}
	n, b := bufferSize(buf, size), &commBuffers
	b.Lock()
	defer b.Unlock()
	if b.size == nil {
		b.size = make(map[handle]int)
	}
	b.size[comm] = n
	within.MoreBuffer(world(), n)
	return 0
}

//export exanet_Comm_detach_buffer
func exanet_Comm_detach_buffer(comm handle, address, size unsafe.Pointer, large int32) int64 {
	b := &commBuffers
	b.Lock()
	defer b.Unlock()
	within.MoreBuffer(world(), -b.size[comm])
	delete(b.size, comm)
	return 0
}

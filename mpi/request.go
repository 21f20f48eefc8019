package mpi

import (
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Request is an operation under way (MPI_Request), which Wait, WaitAll and their like end. It is
// active from when it is begun or started until Wait, or a Test that succeeds, has returned; until
// then its buffers belong to it. After that a persistent request is inactive; any other is inert, and
// waiting for it again returns an empty Status at once.
//
// Several goroutines may use one request: while one is in Wait, WaitContext, Test or Status, others
// may Cancel it, Wait for it or Test it too. One of those that wait gets its outcome, the others an
// empty Status, as if they had called later. A call that comes when the request has ended does
// nothing, or tells so with ErrRequest. Other calls that goroutines make on one request at the same
// time do no harm to other requests, but either may come first: so a program orders Start and Free
// itself, passes a request to one call at a time that waits for any of several, and recycles it when
// no other goroutine has it.
type Request struct {
	// What it is, is a matter of comparing pointers, so that what most programs wait for
	// costs no indirect call. Both are nil if it was complete when it was
	// posted: most eager sends, and what goes to ProcNull.
	m *pooled  // a message that the protocol has, one of the rank's spare ones; the call that ends it gives it back
	s schedule // that the progress engine carries on

	fixed *persistent // nil: it is not persistent
	c     *Comm
	op    string
	w     *watch // nil: no call for any of several requests has met it
	state uint32 // see inert
	null  bool   // a receive from ProcNull
	over  bool   // the schedule has ended; under the rank's lock
}

// The states of a request. They change with the rank's lock held, but for one
// change: who waits for an immediate request makes it inert without the lock.
// Hence they are read and written as atomics, once others can see the request. What
// else changes in a request is read and written with the lock held alone.
const (
	inert     = iota // or inactive
	recycled         // given back
	starting         // Start is under way and may have released the lock
	immediate        // active, but was complete when it was posted
	pending          // active, and has a message or a schedule
)

// Isend begins a Send (MPI_Isend). buf must not be changed until the Request has completed.
func Isend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	d := of(buf)
	return c.postSend("Isend", variants.Standard, &d, dest, tag)
}

// Issend begins a synchronous send (MPI_Issend).
func Issend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	d := of(buf)
	return c.postSend("Issend", variants.Synchronous, &d, dest, tag)
}

// Irsend begins a ready send (MPI_Irsend); it behaves as Isend.
func Irsend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	d := of(buf)
	return c.postSend("Irsend", variants.Standard, &d, dest, tag)
}

// Irecv begins a Recv (MPI_Irecv). buf belongs to the Request until that has completed.
// Wait returns the Status.
func Irecv[T Element](c *Comm, buf []T, source, tag int) (*Request, error) {
	d := of(buf)
	return c.postRecv("Irecv", &d, source, tag)
}

func (c *Comm) postSend(op string, mode variants.Mode, d *parcel, dest, tag int) (*Request, error) {
	if err := c.check(op, d, dest, tag, false); err != nil {
		return nil, err
	}
	k := c.rank
	if s := k.stats; s != nil && dest != ProcNull {
		defer s.record(op, d.size(), time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.request(c, op)
	if dest == ProcNull {
		return q, nil
	}
	if k.check != nil {
		k.check.uses(q, d.note)
	}
	if mode == variants.Standard && !d.gaps() && k.trySend(c.p2p, int32(dest), int32(tag), d.buf) {
		c.leaseOut(dest, tag)
		return q, nil
	}
	k.lookFirst(d.size())
	m := k.take()
	m.Ctx, m.Mode, m.Peer, m.Tag = c.p2p, mode, int32(dest), int32(tag)
	k.load(m, d.memory)
	if k.sentPacked(m, d.memory) {
		k.put(m)
		return q, nil
	}
	k.proto.PostSend(&m.Request)
	if !m.Done && mode == variants.Standard && d.small(k) {
		k.detach(m, 0)
		k.Leave()
		return q, nil
	}
	q.m, q.state = m, pending
	k.began(m)
	k.Leave()
	return q, nil
}

func (c *Comm) postRecv(op string, d *parcel, source, tag int) (*Request, error) {
	if err := c.check(op, d, source, tag, true); err != nil {
		return nil, err
	}
	k := c.rank
	if s := k.stats; s != nil && source != ProcNull {
		defer s.record(op, d.size(), time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.request(c, op)
	if source == ProcNull {
		q.null = true
		return q, nil
	}
	k.lookFirst(d.size())
	q.m, q.state = k.take(), pending
	q.m.Recv, q.m.Ctx, q.m.Peer, q.m.Tag = true, c.p2p, int32(source), int32(tag)
	k.load(q.m, d.memory)
	if k.check != nil {
		k.check.uses(q, d.note)
	}
	k.proto.PostRecv(&q.m.Request)
	k.Leave()
	return q, nil
}

// began notes that a send was posted: what it has written a part of goes on
// without anybody's making room.
func (k *rank) began(m *pooled) {
	if m.Transfer.Done > 0 && !m.Done {
		k.Began()
	}
}

// Active reports whether the request has been posted or started, and not been
// waited for since.
func (q *Request) Active() bool { return !q.idle() }

func (q *Request) phase() uint32 { return atomic.LoadUint32(&q.state) }

// become changes the state, with the lock held.
func (q *Request) become(state uint32) { atomic.StoreUint32(&q.state, state) }

// idle reports whether there is nothing to wait for: without the lock, whether
// there was.
func (q *Request) idle() bool { return q == nil || q.phase() < immediate }

// settled reports whether a request can be ended without the rank's lock: it was
// complete when it was posted, and is not to be taken back.
func (q *Request) settled() bool { return q.phase() == immediate && !q.c.rank.recycling }

// done reports whether a request that was active has completed, or ended
// meanwhile, with the lock held.
func (q *Request) done() bool {
	if q.m != nil {
		return q.m.Done
	}
	return q.s == nil || q.over
}

// finish ends a completed request and returns its outcome. The caller holds the
// rank's lock, unless the request is settled.
func (q *Request) finish() (st Status, err error) {
	switch q.phase() {
	case immediate:
		st = emptyStatus
		if atomic.CompareAndSwapUint32(&q.state, immediate, inert) {
			if q.null {
				st = nullStatus
			}
			q.checkEnded(true)
			q.c.rank.reclaim(q)
		}
		return st, nil
	case pending:
	default: // another goroutine has ended it
		return emptyStatus, nil
	}
	if !q.done() {
		return Status{}, q.misuse(q.op, "another goroutine has started the request again while this one waited for it")
	}
	q.become(inert)
	if q.w != nil {
		q.unwatch()
	}
	switch {
	case q.m != nil:
		q.m.settle()
		st, err = statusOf(&q.m.Request), q.c.outcome(q.op, &q.m.Request)
		if q.m.Recv {
			q.c.leaseIn(&q.m.Request)
		} else if q.c.leasable(q.m.Len()) {
			q.c.leaseOut(int(q.m.Peer), int(q.m.Tag))
		}
		if q.fixed == nil {
			q.c.rank.put(q.m)
		}
		q.m = nil
	case q.s != nil:
		st, err = q.s.outcome()
		if q.fixed == nil {
			q.s = nil
		}
	}
	q.checkEnded(true)
	q.c.rank.reclaim(q)
	return st, err
}

// status is that of a completed request, which is not ended.
func (q *Request) status() Status {
	switch {
	case q.idle():
		return emptyStatus
	case q.m != nil:
		q.m.settle()
		return statusOf(&q.m.Request)
	case q.null:
		return nullStatus
	}
	if p, ok := q.s.(*pair); ok {
		return p.status()
	}
	return emptyStatus
}

// Cancel asks for the request to be taken back (MPI_Cancel). It must be waited
// for all the same; its Status tells whether it was cancelled. What is more
// than one message, a collective for instance, cannot be cancelled.
func (q *Request) Cancel() error {
	if q.idle() {
		return q.misuse("Cancel", inertAlready)
	}
	k := q.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case q.idle():
		return q.misuse("Cancel", inertAlready)
	case q.m != nil:
		q.cancel()
	case q.s != nil:
		return q.misuse("Cancel", "only sends and receives can be taken back")
	}
	return nil
}

const inertAlready = "it has completed and was waited for, or was not started"

// cancel asks for a message to be taken back, with the lock held.
func (q *Request) cancel() {
	k := q.c.rank
	if !q.m.Done {
		// What has arrived already has matched.
		k.Poll()
	}
	k.proto.Cancel(&q.m.Request)
	if q.m.Done {
		k.Nudge()
	}
	k.Leave()
}

// Free gives the request up (MPI_Request_free). A send or receive under way completes all the same,
// without anyone being told: Finalize waits for the sends. The buffer belongs to the request until
// then; only the arrival of later messages tells that a receive has completed. A persistent request
// can not be started again. A collective may be freed while it is under way, which MPI forbids: it
// goes on, and as nothing tells when it has ended its buffers must not be used again.
func (q *Request) Free() error {
	if q == nil || q.c == nil {
		return q.misuse("Free", "there is none")
	}
	k := q.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case q.phase() == starting:
		return q.misuse("Free", "another goroutine starts it: free it later")
	case q.idle() && q.fixed == nil:
		return q.misuse("Free", "it has completed and was waited for, or was freed before")
	}
	if q.w != nil {
		q.unwatch()
	}
	m, p := q.m, q.fixed
	if m == nil && p != nil {
		m = p.m // not under way
	}
	switch {
	case m == nil:
	case q.m == nil || m.Done:
		m.settle()
		k.put(m)
	case !m.Recv:
		k.detach(m, 0)
	case k.check != nil:
		k.check.loose = append(k.check.loose, m)
	}
	// The protocol keeps a receive until it completes, the progress engine a
	// schedule, to which it comes by q.s.
	q.m, q.fixed = nil, nil
	q.checkEnded(false)
	q.become(inert)
	k.unfix(p)
	k.reclaim(q)
	k.Nudge()
	return nil
}

// checkEnded tells the checker that a request has ended.
func (q *Request) checkEnded(waited bool) {
	if x := q.c.rank.check; x != nil {
		x.closed(q, waited)
	}
}

func (q *Request) misuse(op, why string) error {
	var c *Comm
	if q != nil {
		c = q.c
	}
	return c.fail(op, noValue, noValue, noValue, ErrRequest, why)
}

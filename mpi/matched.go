package mpi

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Matched probes. Between a Probe and the Recv for it another goroutine may
// receive the message; one that Mprobe has found only Mrecv or Imrecv of that
// Message receives.

// Message is a message that Mprobe or Improbe has found and nobody has received
// (MPI_Message). It must be received, once, if need be after its communicator has been freed.
type Message struct {
	c    *Comm
	m    *variants.Message // nil: from ProcNull
	st   Status
	gone atomic.Bool // received
}

// Status describes the message; it is empty if m is nil.
func (m *Message) Status() Status {
	if m == nil {
		return emptyStatus
	}
	return m.st
}

// Mprobe waits for a message that a Recv with these arguments would take, and
// takes it out of matching (MPI_Mprobe). Later messages match as if it had been
// received.
func (c *Comm) Mprobe(source, tag int) (*Message, Status, error) {
	return c.MprobeContext(context.Background(), source, tag)
}

// MprobeContext is Mprobe that can be abandoned: then the error wraps that of
// ctx, and no message has been taken.
func (c *Comm) MprobeContext(ctx context.Context, source, tag int) (*Message, Status, error) {
	return c.await(ctx, "Mprobe", source, tag, true)
}

// Improbe is Mprobe without waiting (MPI_Improbe). The message is nil if none
// has arrived.
func (c *Comm) Improbe(source, tag int) (*Message, Status, error) {
	m, _, st, err := c.peek("Improbe", source, tag, true)
	return m, st, err
}

// Mrecv receives a message that was found (MPI_Mrecv). If it is longer than buf,
// buf is unchanged and the error wraps ErrTruncate.
func Mrecv[T Element](m *Message, buf []T) (Status, error) {
	return m.receive("Mrecv", of(buf))
}

func (m *Message) receive(op string, d parcel) (st Status, err error) {
	q, err := m.begin(op, d)
	if err != nil {
		return st, err
	}
	k := q.c.rank
	k.untilRequests(func() bool { return q.done() }, op, false, q)
	st, err = q.finish()
	k.mu.Unlock()
	return st, err
}

// Imrecv begins to receive a message that was found (MPI_Imrecv).
func Imrecv[T Element](m *Message, buf []T) (*Request, error) { return m.post("Imrecv", of(buf)) }

const receivedBefore = "the message was received before, or is none that Mprobe has returned"

func (m *Message) post(op string, d parcel) (*Request, error) {
	q, err := m.begin(op, d)
	if err == nil {
		q.c.rank.Leave()
		q.c.rank.mu.Unlock()
	}
	return q, err
}

// begin returns with the rank locked if there is no error.
func (m *Message) begin(op string, d parcel) (*Request, error) {
	if m == nil || m.c == nil {
		return nil, (*Request)(nil).misuse(op, receivedBefore)
	}
	c := m.c
	if err := c.before(op); err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, c.fail(op, noValue, noValue, noValue, d.err, "")
	}
	if c.rank.check != nil && m.m != nil {
		c.rank.check.wrap(c, op, &d, true).lay()
	}
	if m.gone.Swap(true) {
		return nil, (&Request{c: c}).misuse(op, receivedBefore)
	}
	k := c.rank
	if s := k.stats; s != nil && m.m != nil {
		defer s.record(op, d.size(), time.Now())
	}
	k.mu.Lock()
	q := k.request(c, op)
	if q.null = m.m == nil; !q.null {
		q.m, q.state = k.take(), pending
		q.m.Recv, q.m.Ctx = true, c.p2p
		k.load(q.m, d.memory)
		if k.check != nil {
			k.check.uses(q, d.note)
		}
		k.proto.PostMatched(&q.m.Request, m.m)
		m.m = nil
	}
	if k.recycling {
		k.found.put(m)
	}
	return q, nil
}

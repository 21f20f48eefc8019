package mpi

import (
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Request is a send or receive under way (MPI_Request). Once Wait or a
// successful Test has returned, it is inert: waiting for it again returns an
// empty Status at once.
type Request struct {
	r     variants.Request
	c     *Comm
	op    string
	inert bool // nothing to wait for
	null  bool // it had ProcNull
}

// Isend begins a send (MPI_Isend).
func Isend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	b, err := valid(c, "Isend", buf, dest, tag, false)
	if err != nil {
		return nil, err
	}
	return c.post("Isend", variants.Standard, false, b, dest, tag), nil
}

// Issend begins a synchronous send (MPI_Issend).
func Issend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	b, err := valid(c, "Issend", buf, dest, tag, false)
	if err != nil {
		return nil, err
	}
	return c.post("Issend", variants.Synchronous, false, b, dest, tag), nil
}

// Irsend begins a ready send (MPI_Irsend); it behaves as Isend.
func Irsend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	b, err := valid(c, "Irsend", buf, dest, tag, false)
	if err != nil {
		return nil, err
	}
	return c.post("Irsend", variants.Standard, false, b, dest, tag), nil
}

// Ibsend begins a buffered send (MPI_Ibsend), which is complete at once.
func Ibsend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	if err := Bsend(c, buf, dest, tag); err != nil {
		return nil, err
	}
	return &Request{c: c, op: "Ibsend", r: variants.Request{Done: true, Slot: -1}}, nil
}

// Irecv begins a receive (MPI_Irecv).
func Irecv[T Element](c *Comm, buf []T, source, tag int) (*Request, error) {
	b, err := valid(c, "Irecv", buf, source, tag, true)
	if err != nil {
		return nil, err
	}
	return c.post("Irecv", variants.Standard, true, b, source, tag), nil
}

func (c *Comm) post(op string, mode variants.Mode, recv bool, b []byte, peer, tag int) *Request {
	if s := c.rank.stats; s != nil {
		defer s.record(op, len(b), time.Now())
	}
	q := &Request{c: c, op: op}
	q.r.Reset()
	if peer == ProcNull {
		q.r.Done, q.null = true, true
		q.r.Recv = recv
		return q
	}
	r := &q.r
	r.Recv, r.Mode, r.Ctx, r.Peer, r.Tag, r.Buf = recv, mode, c.p2p, int32(peer), int32(tag), b
	k := c.rank
	k.mu.Lock()
	switch {
	case recv:
		k.proto.PostRecv(r)
	case mode == variants.Standard && (k.proto.TrySend(r.Ctx, r.Peer, r.Tag, b) || k.squeeze(r.Ctx, r.Peer, r.Tag, b)):
		r.Done = true
	default:
		k.proto.PostSend(r)
	}
	k.leave()
	k.mu.Unlock()
	return q
}

// Wait waits until the request has completed (MPI_Wait).
func (q *Request) Wait() (Status, error) {
	if q.idle() {
		return emptyStatus, nil
	}
	k := q.c.rank
	if s := k.stats; s != nil {
		defer s.record("Wait", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !q.r.Done && k.ended.Load() {
		return Status{}, q.misuse("Wait", "it had not completed when Finalize was called, and never will")
	}
	k.waitUntil(func() bool { return q.r.Done })
	return q.finish()
}

// Test reports whether the request has completed (MPI_Test).
func (q *Request) Test() (done bool, st Status, err error) {
	if q.idle() {
		return true, emptyStatus, nil
	}
	k := q.c.rank
	if s := k.stats; s != nil {
		defer s.record("Test", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !q.r.Done {
		k.tryPoll()
	}
	if !q.r.Done {
		k.leave()
		k.relaxIdle()
		return false, Status{}, nil
	}
	st, err = q.finish()
	return true, st, err
}

// relaxIdle lets others run after a call that found nothing, which programs
// repeat in loops.
func (k *rank) relaxIdle() {
	k.mu.Unlock()
	k.fab.Yield()
	k.mu.Lock()
}

// finish makes a completed request inert and returns its outcome.
func (q *Request) finish() (Status, error) {
	q.inert = true
	if q.null {
		if q.r.Recv {
			return nullStatus, nil
		}
		return emptyStatus, nil
	}
	err := q.c.outcome(q.op, &q.r)
	q.r.Buf = nil
	return statusOf(&q.r), err
}

// Cancel asks for the request to be taken back (MPI_Cancel). It must be waited
// for all the same; its Status tells whether it was cancelled.
func (q *Request) Cancel() error {
	if q.idle() {
		return q.misuse("Cancel", "it has completed and was waited for")
	}
	if q.null {
		return nil
	}
	k := q.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if !q.r.Done {
		// What has arrived already has matched.
		k.tryPoll()
	}
	k.proto.Cancel(&q.r)
	if q.r.Done {
		k.nudge()
	}
	k.leave()
	return nil
}

func (q *Request) misuse(op, why string) error {
	var c *Comm
	if q != nil {
		c = q.c
	}
	return c.fail(op, noValue, noValue, noValue, ErrRequest, why)
}

// WaitAll waits until all requests have completed (MPI_Waitall). It returns the
// first error in the order of the arguments; all requests are inert then.
func WaitAll(reqs ...*Request) error {
	k := rankOf(reqs)
	if k == nil {
		return nil
	}
	if s := k.stats; s != nil {
		defer s.record("WaitAll", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended.Load() {
		for _, q := range reqs {
			if !q.idle() && !q.r.Done {
				return q.misuse("WaitAll", "a request had not completed when Finalize was called, and never will")
			}
		}
	}
	i := 0
	k.waitUntil(func() bool {
		for i < len(reqs) && (reqs[i].idle() || reqs[i].r.Done) {
			i++
		}
		return i == len(reqs)
	})
	var first error
	for _, q := range reqs {
		if q.idle() {
			continue
		}
		if _, err := q.finish(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// WaitAny waits until one of the requests has completed and returns its index
// (MPI_Waitany). If none is active, the index is -1.
func WaitAny(reqs ...*Request) (index int, st Status, err error) {
	k := rankOf(reqs)
	if k == nil {
		return -1, emptyStatus, nil
	}
	if s := k.stats; s != nil {
		defer s.record("WaitAny", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended.Load() && !anyDone(reqs) {
		return -1, Status{}, (*Request)(nil).misuse("WaitAny", "no request had completed when Finalize was called, and none will")
	}
	index = -1
	k.waitUntil(func() bool {
		for i, q := range reqs {
			if !q.idle() && q.r.Done {
				index = i
				return true
			}
		}
		return false
	})
	st, err = reqs[index].finish()
	return index, st, err
}

func anyDone(reqs []*Request) bool {
	for _, q := range reqs {
		if !q.idle() && q.r.Done {
			return true
		}
	}
	return false
}

func (q *Request) idle() bool { return q == nil || q.inert || q.c == nil }

// rankOf returns the rank of the active requests, nil if there are none.
func rankOf(reqs []*Request) *rank {
	for _, q := range reqs {
		if !q.idle() {
			return q.c.rank
		}
	}
	return nil
}

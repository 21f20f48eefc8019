package mpi

import (
	"context"
)

// Waiting for one request.

// Wait waits until the request has completed, and ends it (MPI_Wait). The Status and the
// error are what the blocking call would have returned.
func (q *Request) Wait() (Status, error) {
	if q.idle() {
		return emptyStatus, nil
	}
	if q.settled() {
		return q.finish()
	}
	k := q.c.rank
	defer k.timed("Wait", 0).end()
	k.mu.Lock()
	if !q.done() {
		if k.Ended() {
			k.mu.Unlock()
			return Status{}, q.never("Wait")
		}
		k.untilRequests(func() bool { return q.done() }, "Wait", false, q)
	}
	st, err := q.finish()
	k.mu.Unlock()
	return st, err
}

// WaitContext is Wait until ctx is done. Then it asks for the request to be
// cancelled and waits for the answer, so that the buffer is the caller's again:
// either the request has been taken back, and the error wraps that of ctx, or
// its message was on the way already and has been completed, as if ctx were not
// done. A collective cannot be taken back: it goes on, still active, when
// WaitContext returns the error of ctx.
func (q *Request) WaitContext(ctx context.Context) (Status, error) {
	return q.waitContext(ctx, "WaitContext")
}

func (q *Request) waitContext(ctx context.Context, op string) (Status, error) {
	if q.idle() || q.phase() == immediate || ctx.Done() == nil {
		return q.Wait()
	}
	k := q.c.rank
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !q.done() && k.Ended() {
		return Status{}, q.never(op)
	}
	given := false // up, but only a schedule is left at once
	k.waitContext(ctx, func() bool { return q.done() || given && q.s != nil }, func() {
		given = true
		if q.phase() == pending && q.m != nil {
			q.cancel()
		}
	})
	if !q.done() {
		return Status{}, q.c.fail(op, noValue, noValue, noValue, context.Cause(ctx), "it goes on: wait for it again")
	}
	peer, tag, size := noValue, noValue, noValue
	if q.m != nil {
		q.m.settle()
		peer, tag, size = int(q.m.Peer), int(q.m.Tag), q.m.Len()
	}
	st, err := q.finish()
	if st.cancelled && given {
		err = q.c.fail(op, peer, tag, size, context.Cause(ctx), "")
	}
	return st, err
}

// waitContext is waitUntil, and calls up, with the lock held, if ctx is done
// before.
func (k *rank) waitContext(ctx context.Context, done func() bool, up func()) {
	left := false
	stop := context.AfterFunc(ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !left {
			up()
			k.Nudge()
		}
	})
	k.Until(done)
	left = true
	stop()
}

// never is the error of a call that would wait for ever.
func (q *Request) never(op string) error {
	return q.misuse(op, "it had not completed when Finalize was called, and never will")
}

// Test reports whether the request has completed (MPI_Test).
func (q *Request) Test() (done bool, st Status, err error) {
	if q.idle() {
		return true, emptyStatus, nil
	}
	k := q.c.rank
	defer k.timed("Test", 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.Test(q.done) {
		if k.Ended() {
			return false, Status{}, q.never("Test")
		}
		return false, Status{}, nil
	}
	st, err = q.finish()
	return true, st, err
}

// Status reports whether the request has completed, and its Status if so,
// without ending it (MPI_Request_get_status).
func (q *Request) Status() (done bool, st Status) {
	if q.idle() {
		return true, emptyStatus
	}
	k := q.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.Test(q.done) {
		return false, Status{}
	}
	return true, q.status()
}

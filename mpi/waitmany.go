package mpi

// Waiting for several requests. Idle ones are passed over: nil, inert, and
// persistent ones that were not started. All must belong to one rank.

// Completion is the outcome of one of several requests.
type Completion struct {
	Index  int // among the arguments
	Status Status
	Err    error
}

// WaitAll waits until all requests have completed (MPI_Waitall). It returns the
// first error in the order of the arguments; all requests are inert then, the
// persistent ones inactive.
func WaitAll(reqs ...*Request) error {
	l, err := waitAll("WaitAll", reqs)
	if l.k == nil || err != nil {
		return err
	}
	defer l.k.mu.Unlock()
	for _, q := range reqs {
		if q.idle() {
			continue
		}
		if _, e := q.finish(); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// WaitAllStatus is WaitAll, and appends the outcome of every request to out,
// in order; idle ones have an empty Status.
func WaitAllStatus(out []Completion, reqs ...*Request) ([]Completion, error) {
	l, err := waitAll("WaitAllStatus", reqs)
	if err != nil {
		return out, err
	}
	return l.finish(out)
}

// TestAll reports whether all requests have completed (MPI_Testall). If so it
// ends them as WaitAll does, else none.
func TestAll(reqs ...*Request) (done bool, err error) {
	_, done, err = TestAllStatus(nil, reqs...)
	return done, err
}

// TestAllStatus is TestAll, and appends the outcome of every request to out if
// all have completed.
func TestAllStatus(out []Completion, reqs ...*Request) (_ []Completion, done bool, err error) {
	l := all{k: anyRank(reqs), reqs: reqs}
	if l.k != nil {
		defer l.k.timed("TestAll", 0).end()
		l.k.mu.Lock()
		l.at = l.k.lastPending
		done = l.k.Test(l.done)
		l.k.lastPending = l.at
		if err = l.failed("TestAll", done); err != nil || !done {
			l.k.mu.Unlock()
			return out, false, err
		}
	}
	out, err = l.finish(out)
	return out, true, err
}

// all looks whether all requests have completed. It goes round, beginning where
// it was last held up.
type all struct {
	k    *rank // nil: there is nothing to wait for
	reqs []*Request
	at   int
	met  int // requests in a row that were idle or done
	bad  *Request
}

func (l *all) done() bool {
	for n := len(l.reqs); l.met < n; l.met++ {
		if l.at >= n {
			l.at = 0
		}
		if q := l.reqs[l.at]; !q.idle() {
			if q.c.rank != l.k {
				l.bad = q
				return true
			}
			if !q.done() {
				return false
			}
		}
		l.at++
	}
	return true
}

// failed returns the error of a call that cannot go on.
func (l *all) failed(op string, done bool) error {
	switch {
	case l.bad != nil:
		return l.bad.strange(op)
	case !done && l.k.Ended():
		return l.reqs[l.at].never(op)
	}
	return nil
}

// waitAll returns with the rank locked, if there is one and no error.
func waitAll(op string, reqs []*Request) (l all, err error) {
	l = all{k: anyRank(reqs), reqs: reqs}
	k := l.k
	if k == nil {
		return l, nil
	}
	for _, q := range reqs { // before it waits for the wrong rank
		if !q.idle() && q.c.rank != k {
			return l, q.strange(op)
		}
	}
	defer k.timed(op, 0).end()
	k.mu.Lock()
	if !l.done() && !k.Ended() {
		k.untilRequests(l.done, op, false, reqs...)
	}
	if err := l.failed(op, l.met == len(reqs)); err != nil {
		k.mu.Unlock()
		return l, err
	}
	return l, nil
}

// finish ends all requests, appends their outcomes and unlocks the rank.
func (l *all) finish(out []Completion) (_ []Completion, first error) {
	for i, q := range l.reqs {
		d := Completion{Index: i, Status: emptyStatus}
		if !q.idle() {
			d.Status, d.Err = q.finish()
		}
		if first == nil {
			first = d.Err
		}
		out = append(out, d)
	}
	if l.k != nil {
		l.k.mu.Unlock()
	}
	return out, first
}

// anyRank returns the rank of a request, nil if there is none.
func anyRank(reqs []*Request) *rank {
	for _, q := range reqs {
		if q != nil && q.c != nil {
			return q.c.rank
		}
	}
	return nil
}

func (q *Request) strange(op string) error {
	return q.misuse(op, "the requests belong to different ranks")
}

package mpi

import "time"

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
		if s := l.k.stats; s != nil {
			defer s.record("TestAll", 0, time.Now())
		}
		l.k.mu.Lock()
		l.at = l.k.lastPending
		done = l.k.testUntil(l.done)
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
	case !done && l.k.ended.Load():
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
	if s := k.stats; s != nil {
		defer s.record(op, 0, time.Now())
	}
	k.mu.Lock()
	if !l.done() && !k.ended.Load() {
		k.waitUntil(l.done)
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

// WaitAny waits until one of the requests has completed, ends it and returns
// its index (MPI_Waitany). If none is active, the index is -1. Of several that
// have completed, those behind the last one found come first.
func WaitAny(reqs ...*Request) (index int, st Status, err error) {
	index, _, st, err = anyOf("WaitAny", reqs, true)
	return index, st, err
}

// TestAny is WaitAny without waiting (MPI_Testany). Done is true if a request
// has completed, which is ended, or if none is active: then the index is -1.
func TestAny(reqs ...*Request) (index int, done bool, st Status, err error) {
	return anyOf("TestAny", reqs, false)
}

func anyOf(op string, reqs []*Request, wait bool) (index int, done bool, st Status, err error) {
	k := anyRank(reqs)
	if k == nil {
		return -1, true, emptyStatus, nil
	}
	if s := k.stats; s != nil {
		defer s.record(op, 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := search{k: k, reqs: reqs, at: k.lastFound}
	if found, err := l.find(op, wait); !found {
		return -1, l.none, emptyStatus, err
	}
	k.lastFound = l.at + 1
	st, err = reqs[l.at].finish()
	return l.at, true, st, err
}

// WaitSome waits until at least one of the requests has completed, ends all
// that have, and appends their outcomes to out in order (MPI_Waitsome). It
// appends nothing if none is active. The error is the first among them.
func WaitSome(out []Completion, reqs ...*Request) ([]Completion, error) {
	return someOf("WaitSome", out, reqs, true)
}

// TestSome is WaitSome without waiting (MPI_Testsome).
func TestSome(out []Completion, reqs ...*Request) ([]Completion, error) {
	return someOf("TestSome", out, reqs, false)
}

func someOf(op string, out []Completion, reqs []*Request, wait bool) (_ []Completion, err error) {
	k := anyRank(reqs)
	if k == nil {
		return out, nil
	}
	if s := k.stats; s != nil {
		defer s.record(op, 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := search{k: k, reqs: reqs}
	if found, err := l.find(op, wait); !found {
		return out, err
	}
	for i := l.at; i < len(reqs); i++ {
		q := reqs[i]
		if q.idle() || q.c.rank != k || !q.done() {
			continue
		}
		d := Completion{Index: i}
		if d.Status, d.Err = q.finish(); d.Err != nil && err == nil {
			err = d.Err
		}
		out = append(out, d)
	}
	return out, err
}

// search looks for a completed request, from at on and then before it. It looks
// again only when requests have completed since.
type search struct {
	k    *rank
	reqs []*Request
	at   int
	none bool     // none is active
	bad  *Request // of another rank
	end  bool     // nothing to wait for
	seen uint64   // completions when it looked last, plus one
}

// find returns with at set if it has found one.
func (l *search) find(op string, wait bool) (found bool, err error) {
	k := l.k
	switch {
	case l.over() || k.ended.Load():
	case wait:
		k.waitUntil(l.over)
	default:
		k.testUntil(l.over)
	}
	switch {
	case l.bad != nil:
		return false, l.bad.strange(op)
	case !l.end && k.ended.Load():
		return false, (*Request)(nil).misuse(op, "no request had completed when Finalize was called, and none will")
	}
	return l.end && !l.none, nil
}

// over reports whether there is nothing to wait for: one has completed, none is
// active, or one is not ours.
func (l *search) over() bool {
	if now := l.k.count.Completed + 1; !l.end && l.seen != now {
		l.seen = now
		l.end = l.look()
	}
	return l.end
}

func (l *search) look() bool {
	l.none = true
	for range len(l.reqs) {
		if l.at >= len(l.reqs) {
			l.at = 0
		}
		if q := l.reqs[l.at]; !q.idle() {
			l.none = false
			if q.c.rank != l.k {
				l.bad = q
				return true
			}
			if q.done() {
				return true
			}
		}
		l.at++
	}
	return l.none
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

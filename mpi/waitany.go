package mpi

import (
	"github.com/exanet-mpi/exanet/variants"
)

// Waiting for any of several requests.
//
// Looking at all of them for each that completes would take quadratic time. So a
// call that has to wait makes each request tell when it completes; the next
// calls find those that have told, and where they were among the arguments. Only
// when there are none do they look at all again, and while they do messages
// arrive, which the next calls profit from.

// watch is the part of an active request that tells.
type watch struct {
	q      *Request
	at     int            // its index in the last list that was looked through
	batch  variants.Batch // of that one request, if it is a message
	listed bool           // has completed
	next   *watch
	prev   *watch
}

// watched are the watches of a rank.
type watched struct {
	told        variants.Ready // of messages that have completed
	first, last *watch         // those that have completed, in that order
	spare       spares[watch]
	calls       uint // see search.find
}

// completed puts a watch behind those that have completed.
func (l *watched) completed(w *watch) {
	w.listed, w.next, w.prev = true, nil, l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

// hear takes what messages have told.
func (l *watched) hear() {
	for l.told.Len() > 0 {
		l.completed(l.told.Pop().Owner.(*watch))
	}
}

// watch makes an active request that has not completed tell.
func (q *Request) watch(at int) {
	l := &q.c.rank.watched
	w := q.w
	if w == nil {
		w = l.spare.take()
		*w = watch{q: q}
		q.w = w
		if q.m != nil {
			w.batch.Open, w.batch.Owner = 1, w
			w.batch.Await(&l.told)
			q.m.Batch = &w.batch
		}
	}
	w.at = at
}

// unwatch ends the watch of a request that is ended.
func (q *Request) unwatch() {
	l, w := &q.c.rank.watched, q.w
	l.hear()
	if w.listed {
		if w.prev == nil {
			l.first = w.next
		} else {
			w.prev.next = w.next
		}
		if w.next == nil {
			l.last = w.prev
		} else {
			w.next.prev = w.prev
		}
	}
	if q.m != nil {
		q.m.Batch = nil
	}
	q.w = nil
	*w = watch{}
	l.spare.put(w)
}

// WaitAny waits until one of the requests has completed, ends it and returns
// its index (MPI_Waitany). If none is active, the index is -1.
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
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := search{k: k, reqs: reqs}
	if found, err := l.find(op, wait); !found {
		return -1, l.none, emptyStatus, err
	}
	st, err = reqs[l.at].finish()
	return l.at, true, st, err
}

// WaitSome waits until at least one of the requests has completed, ends those
// of which it knows that they have, and appends their outcomes to out
// (MPI_Waitsome). It appends nothing if none is active. The error is the first
// among them.
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
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := search{k: k, reqs: reqs}
	if found, err := l.find(op, wait); !found {
		return out, err
	}
	end := func(at int) {
		d := Completion{Index: at}
		if d.Status, d.Err = reqs[at].finish(); d.Err != nil && err == nil {
			err = d.Err
		}
		out = append(out, d)
	}
	if l.looked {
		for i := l.at; i < len(reqs); i++ {
			if q := reqs[i]; !q.idle() && q.c.rank == k && q.done() {
				end(i)
			}
		}
		return out, err
	}
	for w := k.watched.first; w != nil; {
		next := w.next
		if l.holds(w) {
			end(w.at)
		}
		w = next
	}
	return out, err
}

// search looks for a completed request among some.
type search struct {
	k      *rank
	reqs   []*Request
	at     int      // of the one found
	over   bool     // found, or there is nothing to wait for:
	none   bool     // none is active
	bad    *Request // of another rank
	looked bool     // at all of them, and found it so
}

// lookAnyway is how often a call looks at all requests although it knows of one
// that has completed, for the sake of those that never tell: they were complete
// when they were posted.
const lookAnyway = 64

// find returns with at set if it has found one.
func (l *search) find(op string, wait bool) (found bool, err error) {
	k := l.k
	k.watched.calls++
	if !l.heard() && !k.Ended() {
		k.Poll() // what has arrived meanwhile saves us the looking
	}
	if k.watched.calls%lookAnyway == 0 || !l.heard() {
		l.look()
	}
	switch {
	case l.over || k.Ended():
	case wait:
		k.untilRequests(l.heard, op, true, l.reqs...)
	default:
		k.Test(l.heard)
	}
	switch {
	case l.bad != nil:
		return false, l.bad.strange(op)
	case !l.over && k.Ended():
		return false, (*Request)(nil).misuse(op, "no request had completed when Finalize was called, and none will")
	}
	return l.over && !l.none, nil
}

// heard looks for one of the requests among those that have told.
func (l *search) heard() bool {
	if l.over {
		return true
	}
	l.k.watched.hear()
	for w := l.k.watched.first; w != nil; w = w.next {
		if l.holds(w) {
			l.at, l.over = w.at, true
			return true
		}
	}
	return false
}

// holds reports whether the request of a watch is where it was.
func (l *search) holds(w *watch) bool { return w.at < len(l.reqs) && l.reqs[w.at] == w.q }

// look looks at all requests and makes those tell that have not completed.
func (l *search) look() {
	l.none = true
	for i, q := range l.reqs {
		if q.idle() {
			continue
		}
		l.none = false
		switch {
		case q.c.rank != l.k:
			l.bad, l.over = q, true
			return
		case q.done():
			l.at, l.over, l.looked = i, true, true
			return
		}
		q.watch(i)
	}
	l.over = l.none
}

package mpi

import "time"

// Wait waits until the request has completed (MPI_Wait).
func (q *Request) Wait() (Status, error) {
	if q.idle() {
		return emptyStatus, nil
	}
	if q.immediate() {
		return q.finish()
	}
	k := q.c.rank
	if s := k.stats; s != nil {
		defer s.record("Wait", 0, time.Now())
	}
	k.mu.Lock()
	if !q.done() {
		if k.ended.Load() {
			k.mu.Unlock()
			return Status{}, q.never("Wait")
		}
		k.waitUntil(func() bool { return q.done() })
	}
	st, err := q.finish()
	k.mu.Unlock()
	return st, err
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
	if s := k.stats; s != nil {
		defer s.record("Test", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !q.done() {
		k.tryPoll()
	}
	if !q.done() {
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
			if !q.idle() && !q.done() {
				return q.never("WaitAll")
			}
		}
	}
	i := 0
	k.waitUntil(func() bool {
		for i < len(reqs) && (reqs[i].idle() || reqs[i].done()) {
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
	index = -1
	look := func() bool {
		for i, q := range reqs {
			if !q.idle() && q.done() {
				index = i
				return true
			}
		}
		return false
	}
	if k.ended.Load() && !look() {
		return -1, Status{}, (*Request)(nil).misuse("WaitAny", "no request had completed when Finalize was called, and none will")
	}
	k.waitUntil(look)
	st, err = reqs[index].finish()
	return index, st, err
}

// rankOf returns the rank of the active requests, nil if there are none.
func rankOf(reqs []*Request) *rank {
	for _, q := range reqs {
		if !q.idle() {
			return q.c.rank
		}
	}
	return nil
}

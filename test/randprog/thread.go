package randprog

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"
)

// thread is one goroutine of a rank while it plays one phase. All its methods
// are called by one goroutine at a time.
type thread struct {
	*player
	id    int
	phase int
	rng   *rand.Rand
	now   int // the thread's time: one tick an event

	arena    arena
	receives []*Receive // in posting order
	peeks    []Peek
	sent     map[int]*sending // by operation
	reqs     map[int]*pending // by operation
	live     []*pending       // requests not known to be complete
	got      int              // messages received
	tally    Tally
}

// sending is a send of the phase.
type sending struct {
	op        *Op
	region    []byte
	done      bool
	cancelled bool
}

// pending is a request with what it stands for; one of s and r is nil.
type pending struct {
	op        int // -1: of the drain
	req       Request
	s         *sending
	r         *Receive
	done      bool
	cancelled bool // Cancel was called
}

func (t *thread) start(phase int) {
	t.phase, t.rng, t.now = phase, t.p.random(1, phase, t.id), 1
	t.receives, t.peeks, t.live, t.got, t.tally = nil, nil, nil, 0, Tally{}
	t.sent, t.reqs = map[int]*sending{}, map[int]*pending{}
}

// part runs the thread's operations of one part.
func (t *thread) part(part int) {
	for _, o := range t.p.ops(t.id, t.phase, part) {
		t.note(o.ID, event{what: begun})
		t.tally.Operations++
		t.do(o)
	}
}

func (t *thread) note(op int, e event) {
	t.now++
	t.trace.note(t.id, op, e)
}

// send makes the message of o in a fresh buffer.
func (t *thread) send(o *Op) *sending {
	s := &sending{op: o, region: t.arena.region(o.Size, t.rng.IntN(16))}
	copy(inner(s.region), payload(t.p.Seed, o.ID, o.Size))
	t.sent[o.ID] = s
	t.tally.Messages++
	return s
}

// sentOut notes that the buffer of s is the thread's again, and uses it.
func (t *thread) sentOut(s *sending, err error) {
	if err != nil {
		t.problem("#%d %s: %v", s.op.ID, t.p.describe(s.op), err)
	}
	s.done = true
	copy(inner(s.region), scribbles)
}

// receive makes a buffer and appends a receive to the posting order.
func (t *thread) receive(op, from, tag, size int) *Receive {
	r := &Receive{Op: op, From: from, Tag: tag, Cap: size, Region: t.arena.region(size, t.rng.IntN(16))}
	t.receives = append(t.receives, r)
	return r
}

// received notes that r is complete.
func (t *thread) received(r *Receive, st *Status, err error) {
	r.Done, r.Status, r.Sum, r.DoneAt = true, st, sum(r.Region), t.now
	if errors.Is(err, ErrTruncated) {
		r.Truncated = true
		t.tally.Truncations++
	} else if err != nil {
		t.problem("%s: %v", r, err)
	}
	if st != nil && st.Cancelled {
		r.Cancelled = true
		return
	}
	t.got++
	t.tally.Receives++
}

// track appends a request to those in flight.
func (t *thread) track(q *pending, err error) {
	if err != nil {
		t.problem("posting #%d: %v", q.op, err)
		q.done = true
		return
	}
	t.note(q.op, event{what: posted})
	t.live = append(t.live, q)
	if q.op >= 0 {
		t.reqs[q.op] = q
	}
}

// complete notes that q is complete. st is nil where the call does not tell.
func (t *thread) complete(q *pending, st *Status, err error) {
	e := event{what: completed, err: err}
	if st != nil && (q.r != nil || st.Cancelled) {
		e.st, e.has = *st, true
	}
	t.note(q.op, e)
	q.done = true
	for i, l := range t.live {
		if l == q {
			t.live = append(t.live[:i], t.live[i+1:]...)
			break
		}
	}
	gone := st != nil && st.Cancelled
	if gone && !q.cancelled {
		t.problem("#%d was cancelled by nobody, yet is cancelled", q.op)
	}
	switch {
	case q.s != nil:
		q.s.cancelled = gone
		t.sentOut(q.s, err)
		if q.cancelled {
			count(gone, &t.tally.SendCancels, &t.tally.SendCancelsRefused)
		}
	default:
		t.received(q.r, st, err)
		if q.op < 0 && !gone {
			t.tally.LeftOver++
		}
		if q.cancelled {
			count(gone, &t.tally.RecvCancels, &t.tally.RecvCancelsRefused)
		}
	}
}

func count(first bool, a, b *uint64) {
	if first {
		*a++
	} else {
		*b++
	}
}

// do executes one operation.
func (t *thread) do(o *Op) {
	switch o.Kind {
	case Send:
		s := t.send(o)
		err := t.w.Send(o.Mode, inner(s.region), t.p.Threads[o.Dest].Rank, o.Tag)
		t.note(o.ID, event{what: returned, err: err})
		t.sentOut(s, err)
	case Isend:
		s := t.send(o)
		req, err := t.w.Isend(o.Mode, inner(s.region), t.p.Threads[o.Dest].Rank, o.Tag)
		t.track(&pending{op: o.ID, req: req, s: s}, err)
	case Recv:
		t.recv(t.receive(o.ID, o.From, o.RTag, o.Cap), o.From, o.RTag)
	case Irecv:
		t.irecv(o.ID, o.From, o.RTag, o.Cap)
	case Sendrecv:
		t.sendrecv(o)
	case Probe, Iprobe:
		t.probe(o)
	case Test, Wait, WaitAll, WaitAny, Cancel:
		t.onRequests(o)
	case Null:
		t.null(o)
	case Pause:
		pause(o.Size)
		t.note(o.ID, event{what: returned})
	}
}

// irecv posts a receive and leaves it pending.
func (t *thread) irecv(op, from, tag, size int) *pending {
	r := t.receive(op, from, tag, size)
	req, err := t.w.Irecv(inner(r.Region), from, tag)
	q := &pending{op: op, req: req, r: r}
	t.track(q, err)
	return q
}

// recv receives into r with the given pattern, and waits.
func (t *thread) recv(r *Receive, from, tag int) {
	st, err := t.w.Recv(inner(r.Region), from, tag)
	t.note(r.Op, event{what: returned, st: st, has: true, err: err})
	t.received(r, &st, err)
}

func (t *thread) sendrecv(o *Op) {
	s, r := t.send(o), t.receive(o.ID, o.From, o.RTag, o.Cap)
	st, err := t.w.Sendrecv(inner(s.region), t.p.Threads[o.Dest].Rank, o.Tag, inner(r.Region), o.From, o.RTag)
	t.note(o.ID, event{what: returned, st: st, has: true, err: err})
	t.sentOut(s, nil)
	t.received(r, &st, err)
}

// probe probes and receives what it finds. To the model this is one receive
// with the pattern of the probe.
func (t *thread) probe(o *Op) {
	var m Taken
	var st Status
	var err error
	there := true
	switch matched := !o.Peek && t.rng.IntN(2) == 0; {
	case matched && o.Kind == Probe:
		m, st, err = t.w.Mprobe(o.From, o.RTag)
	case matched:
		m, st, err = t.w.Improbe(o.From, o.RTag)
		there = m != nil
	case o.Kind == Probe:
		st, err = t.w.Probe(o.From, o.RTag)
	default:
		there, st, err = t.w.Iprobe(o.From, o.RTag)
	}
	if err != nil {
		t.problem("#%d %s: %v", o.ID, t.p.describe(o), err)
	}
	if !there {
		t.note(o.ID, event{what: nothing})
		return
	}
	t.note(o.ID, event{what: found, st: st, has: true, err: err})
	if o.Peek {
		t.peeks = append(t.peeks, Peek{Op: o.ID, From: o.From, Tag: o.RTag, Status: st})
		return
	}
	t.probed(o.ID, o.From, o.RTag, o.Cap, st, m)
}

// probed receives a message that a probe with pattern (from, tag) reported, and
// took if m is not nil.
func (t *thread) probed(op, from, tag, size int, st Status, m Taken) {
	t.tally.Probes++
	r := t.receive(op, from, tag, size)
	r.Probed = &st
	if m == nil {
		t.recv(r, st.Source, st.Tag)
		return
	}
	t.tally.Matched++
	st, err := m.Recv(inner(r.Region))
	t.note(op, event{what: returned, st: st, has: true, err: err})
	t.received(r, &st, err)
}

func (t *thread) onRequests(o *Op) {
	var reqs []*pending
	for _, id := range o.Reqs {
		if q := t.reqs[id]; q != nil && !q.done {
			reqs = append(reqs, q)
		}
	}
	q := t.reqs[o.Reqs[0]]
	switch {
	case o.Kind == Wait && len(reqs) == 0 && q != nil:
		// A request that is complete is inert: Wait returns at once.
		st, err := q.req.Wait()
		t.note(o.ID, event{what: returned, st: st, has: true, err: err})
		if err != nil || st.Bytes != 0 || st.Cancelled {
			t.problem("#%d waits again for #%d and gets %v, error %v", o.ID, q.op, st, err)
		}
	case len(reqs) == 0:
		t.note(o.ID, event{what: skipped})
	case o.Kind == Test:
		done, st, err := q.req.Test()
		if !done {
			if err != nil {
				t.problem("#%d tests #%d, which is not complete, and gets error %v", o.ID, q.op, err)
			}
			t.note(o.ID, event{what: nothing})
			return
		}
		t.note(o.ID, event{what: returned})
		t.complete(q, &st, err)
	case o.Kind == Wait:
		st, err := q.req.Wait()
		t.note(o.ID, event{what: returned})
		t.complete(q, &st, err)
	case o.Kind == WaitAll:
		t.waitAll(o.ID, reqs)
	case o.Kind == WaitAny:
		if s := t.reqs[o.Sure]; s == nil || s.done {
			t.note(o.ID, event{what: skipped}) // nothing else is certain to complete
			return
		}
		t.waitAny(o.ID, reqs)
	case o.Kind == Cancel:
		t.cancel(q)
		t.note(o.ID, event{what: returned})
	}
}

// waitAll waits for requests whose receives name source and tag: it gets no
// Status.
func (t *thread) waitAll(op int, reqs []*pending) {
	list := make([]Request, len(reqs))
	for i, q := range reqs {
		list[i] = q.req
	}
	err := t.w.WaitAll(list)
	t.note(op, event{what: returned, err: err})
	t.tally.Passed++
	b := &Batch{Truncated: errors.Is(err, ErrTruncated)}
	if err != nil && !b.Truncated {
		t.problem("WaitAll: %v", err)
	}
	for _, q := range reqs {
		if q.r != nil {
			q.r.Batch = b
		}
		t.complete(q, nil, nil)
	}
}

func (t *thread) waitAny(op int, reqs []*pending) {
	list := make([]Request, len(reqs))
	for i, q := range reqs {
		list[i] = q.req
	}
	i, st, err := t.w.WaitAny(list)
	t.note(op, event{what: returned, err: err})
	t.tally.Passed++
	if i < 0 || i >= len(reqs) {
		t.problem("WaitAny of %d pending requests returns index %d, error %v", len(reqs), i, err)
		return
	}
	t.complete(reqs[i], &st, err)
}

func (t *thread) cancel(q *pending) {
	t.note(q.op, event{what: cancelling})
	q.cancelled = true
	if q.r != nil {
		q.r.CancelAt = t.now
	}
	if err := q.req.Cancel(); err != nil {
		t.problem("cancel of #%d: %v", q.op, err)
	}
}

// pause lets others run for about us microseconds.
func pause(us int) {
	switch {
	case us == 0:
		runtime.Gosched()
	case us >= 200:
		time.Sleep(time.Duration(us) * time.Microsecond)
	default:
		for end := time.Now().Add(time.Duration(us) * time.Microsecond); time.Now().Before(end); {
		}
	}
}

package randprog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// fault names a way in which the reference implementation can be made wrong.
type fault int

const (
	correct        fault = iota
	overtake             // a receive takes a later message of the stream
	passOver             // a message goes to a later receive than it should
	duplicate            // a message arrives twice
	lose                 // a message vanishes
	wrongSize            // a status is one byte short
	wrongTag             // a status has a neighbouring tag
	wrongSource          // a status has another source
	lateWrite            // a buffer is written after its receive completed
	earlyDone            // a receive completes before its data is there
	overrun              // one byte more than the message is written
	corrupt              // one byte of a message changes on the way
	sendEarly            // a send completes before its buffer has been read
	silent               // truncation is not reported
	cancelKeeps          // a cancelled receive takes a message nonetheless
	cancelDelivers       // a cancelled send is received
	sendBuffer           // a send buffer is written
	probeLast            // a probe reports the last message instead of the first
	faults
)

func (f fault) String() string {
	return [faults]string{"correct", "overtake", "passOver", "duplicate", "lose", "wrongSize", "wrongTag",
		"wrongSource", "lateWrite", "earlyDone", "overrun", "corrupt", "sendEarly", "silent", "cancelKeeps",
		"cancelDelivers", "sendBuffer", "probeLast"}[f]
}

// reference is MPI as a lock and two lists: messages in flight between ranks
// are delivered in order for each pair, at random between pairs.
type reference struct {
	mu     sync.Mutex
	cond   sync.Cond
	rng    *rand.Rand
	n      int
	fault  fault
	rules  Rules
	eager  int             // largest standard send that completes by itself
	flight [][]*refMessage // by source*n+dest: sent, not yet arrived
	posted [][]*refRequest // by dest
	early  [][]*refMessage // by dest: arrived, not matched
	later  []func()        // what a fault leaves to be done

	arrived, round int
	sum, result    []int64
}

type refMessage struct {
	source, dest, tag int
	data              []byte
	send              *refRequest // nil once complete
	gone              bool
}

type refRequest struct {
	w           *refWorld
	buf         []byte
	source, tag int
	message     *refMessage // of a send
	done, inert bool
	st          Status
	err         error
}

type refWorld struct {
	*reference
	rank int
}

// startReference returns a Start for the reference with a fault. It refuses what
// rules do not allow.
func startReference(seed uint64, f fault, rules Rules) Start {
	return func(n int, rank func(World) error) error {
		r := &reference{rng: rand.New(rand.NewPCG(seed, 3)), n: n, fault: f, rules: rules,
			eager: []int{-1, 40, maxMessage}[seed/seedsPerJob%3], flight: make([][]*refMessage, n*n),
			posted: make([][]*refRequest, n), early: make([][]*refMessage, n)}
		r.cond.L = &r.mu
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { errs[i] = rank(&refWorld{r, i}) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// strikes decides whether fault f happens now.
func (r *reference) strikes(f fault) bool { return r.fault == f && r.rng.IntN(4) == 0 }

// deliver lets one random message arrive and reports whether there was one.
func (r *reference) deliver() bool {
	for _, f := range r.later {
		f()
	}
	r.later = nil
	start := r.rng.IntN(len(r.flight))
	for i := range r.flight {
		q := &r.flight[(start+i)%len(r.flight)]
		if len(*q) == 0 {
			continue
		}
		m := (*q)[0]
		*q = (*q)[1:]
		if !m.gone && !r.strikes(lose) {
			r.arrive(m)
			if r.strikes(duplicate) {
				r.arrive(&refMessage{source: m.source, dest: m.dest, tag: m.tag, data: m.data})
			}
		}
		r.cond.Broadcast()
		return true
	}
	return false
}

func (q *refRequest) fits(m *refMessage) bool {
	return (q.source == AnySource || q.source == m.source) && (q.tag == AnyTag || q.tag == m.tag)
}

func (r *reference) arrive(m *refMessage) {
	posted := &r.posted[m.dest]
	for i, q := range *posted {
		if q.fits(m) && !r.strikes(passOver) {
			*posted = slices.Delete(*posted, i, i+1)
			r.match(q, m)
			return
		}
	}
	r.early[m.dest] = append(r.early[m.dest], m)
}

// errRules is the error of what the rules do not allow.
var errRules = errors.New("the program breaks its rules")

// take returns the first early message that fits q and takes it out, unless it
// is only looked at.
func (r *reference) take(q *refRequest, look bool) *refMessage {
	early := &r.early[q.w.rank]
	found := -1
	for i, m := range *early {
		if q.fits(m) {
			found = i
			if !(r.fault == overtake && !look && r.rng.IntN(2) == 0) && !(r.fault == probeLast && look) {
				break
			}
		}
	}
	if found < 0 {
		return nil
	}
	m := (*early)[found]
	if !look {
		*early = slices.Delete(*early, found, found+1)
	}
	return m
}

// match completes receive q with m.
func (r *reference) match(q *refRequest, m *refMessage) {
	data, buf := m.data, q.buf
	q.st, q.done = Status{Source: m.source, Tag: m.tag, Bytes: len(data)}, true
	if len(data) > len(buf) && !r.strikes(silent) {
		q.err = fmt.Errorf("receive from %d: %w", m.source, ErrTruncated)
	}
	if r.rules.paired() && r.rules.long(len(data)) != r.rules.long(len(buf)) {
		q.err = fmt.Errorf("a message of %d B meets a buffer of %d B: %w", len(data), len(buf), errRules)
	}
	n := copy(buf, data)
	switch {
	case r.strikes(wrongSize):
		q.st.Bytes--
	case r.strikes(wrongTag):
		q.st.Tag++
	case r.strikes(wrongSource):
		q.st.Source = (q.st.Source + 1) % r.n
	case n > 0 && r.strikes(lateWrite):
		r.later = append(r.later, func() { buf[n-1]++ })
	case n > 0 && r.strikes(earlyDone):
		last := buf[n-1]
		buf[n-1] = guardByte
		r.later = append(r.later, func() { buf[n-1] = last })
	case n < len(buf) && r.strikes(overrun):
		buf[n] = 0
	case n > 0 && r.strikes(corrupt):
		buf[n/2] ^= 4
	}
	if s := m.send; s != nil {
		s.done = true
		if len(data) > 0 && r.strikes(sendBuffer) {
			r.later = append(r.later, func() { data[0]++ })
		}
	}
	r.cond.Broadcast()
}

func (w *refWorld) Rank() int { return w.rank }
func (w *refWorld) Size() int { return w.n }

func (w *refWorld) Isend(mode Mode, buf []byte, dest, tag int) (Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := &refRequest{w: w}
	if dest == ProcNull {
		q.done = true
		return q, nil
	}
	m := &refMessage{source: w.rank, dest: dest, tag: tag, data: buf, send: q}
	q.message = m
	if mode == Buffered || len(buf) <= w.eager && mode == Standard {
		m.data, m.send, q.done = slices.Clone(buf), nil, true
	} else if w.strikes(sendEarly) {
		q.done = true
	}
	w.flight[w.rank*w.n+dest] = append(w.flight[w.rank*w.n+dest], m)
	for w.rng.IntN(2) == 0 {
		w.deliver()
	}
	if mode == Ready && !slices.ContainsFunc(w.posted[dest], func(q *refRequest) bool { return q.fits(m) }) && !q.done {
		// Everything before m must arrive before this can be judged.
		for slices.Contains(w.flight[w.rank*w.n+dest], m) {
			w.deliver()
		}
		if slices.Contains(w.early[dest], m) {
			return q, fmt.Errorf("ready send to %d with tag %d finds no receive", dest, tag)
		}
	}
	w.cond.Broadcast()
	return q, nil
}

func (w *refWorld) Irecv(buf []byte, source, tag int) (Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := &refRequest{w: w, buf: buf, source: source, tag: tag}
	if w.rules.paired() && source == AnySource || w.rules.Counted && source != ProcNull && tag == AnyTag {
		return q, errRules
	}
	if source == ProcNull {
		q.done, q.st = true, Status{Source: ProcNull, Tag: AnyTag}
	} else if m := w.take(q, false); m != nil {
		w.match(q, m)
	} else {
		w.posted[w.rank] = append(w.posted[w.rank], q)
	}
	return q, nil
}

// wait blocks until ok. w.mu is held.
func (r *reference) wait(ok func() bool) {
	for !ok() {
		if !r.deliver() {
			r.cond.Wait()
		}
	}
}

func (q *refRequest) finish() (Status, error) {
	if q.inert {
		return Status{}, nil
	}
	q.inert = true
	return q.st, q.err
}

func (q *refRequest) Wait() (Status, error) {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	q.w.wait(func() bool { return q.done })
	return q.finish()
}

func (q *refRequest) Test() (bool, Status, error) {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	q.w.deliver()
	if !q.done {
		return false, Status{}, nil
	}
	st, err := q.finish()
	return true, st, err
}

func (q *refRequest) Cancel() error {
	r := q.w
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rules.Counted {
		return errRules
	}
	if m := q.message; m != nil {
		early := &r.early[m.dest]
		if i := slices.Index(*early, m); i >= 0 && !q.done {
			if !r.strikes(cancelDelivers) {
				*early = slices.Delete(*early, i, i+1)
			}
			q.done, q.st.Cancelled, m.send = true, true, nil
		} else if slices.Contains(r.flight[m.source*r.n+m.dest], m) && !q.done {
			m.gone = !r.strikes(cancelDelivers)
			q.done, q.st.Cancelled, m.send = true, true, nil
		}
		return nil
	}
	if i := slices.Index(r.posted[r.rank], q); i >= 0 {
		if r.fault != cancelKeeps {
			r.posted[r.rank] = slices.Delete(r.posted[r.rank], i, i+1)
			q.done, q.st.Cancelled = true, true
			return nil
		}
		// Nothing is left to be matched at the end of a phase: do not hang then.
		for r.deliver() {
		}
		if i := slices.Index(r.posted[r.rank], q); i >= 0 {
			r.posted[r.rank] = slices.Delete(r.posted[r.rank], i, i+1)
		}
		q.done, q.st, q.err = true, Status{Cancelled: true}, nil
	}
	return nil
}

func (w *refWorld) Send(mode Mode, buf []byte, dest, tag int) error {
	q, err := w.Isend(mode, buf, dest, tag)
	if err == nil {
		_, err = q.Wait()
	}
	return err
}

func (w *refWorld) Recv(buf []byte, source, tag int) (Status, error) {
	q, _ := w.Irecv(buf, source, tag)
	return q.Wait()
}

func (w *refWorld) Sendrecv(send []byte, dest, sendTag int, recv []byte, source, recvTag int) (Status, error) {
	r, _ := w.Irecv(recv, source, recvTag)
	s, err := w.Isend(Standard, send, dest, sendTag)
	if err != nil {
		return Status{}, err
	}
	if _, err := s.Wait(); err != nil {
		return Status{}, err
	}
	return r.Wait()
}

func (w *refWorld) Iprobe(source, tag int) (bool, Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deliver()
	if w.rules.paired() && source != ProcNull {
		return false, Status{}, errRules
	}
	if source == ProcNull {
		return true, Status{Source: ProcNull, Tag: AnyTag}, nil
	}
	if m := w.take(&refRequest{w: w, source: source, tag: tag}, true); m != nil {
		return true, Status{Source: m.source, Tag: m.tag, Bytes: len(m.data)}, nil
	}
	return false, Status{}, nil
}

func (w *refWorld) Improbe(source, tag int) (Taken, Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deliver()
	if w.rules.paired() && source != ProcNull {
		return nil, Status{}, errRules
	}
	if m := w.take(&refRequest{w: w, source: source, tag: tag}, false); m != nil {
		return refTaken{w, m}, Status{Source: m.source, Tag: m.tag, Bytes: len(m.data)}, nil
	}
	return nil, Status{}, nil
}

func (w *refWorld) Mprobe(source, tag int) (Taken, Status, error) {
	for {
		if m, st, err := w.Improbe(source, tag); m != nil || err != nil {
			return m, st, err
		}
		w.mu.Lock()
		if !w.deliver() && w.take(&refRequest{w: w, source: source, tag: tag}, true) == nil {
			w.cond.Wait()
		}
		w.mu.Unlock()
	}
}

// refTaken is a message that a matched probe has taken.
type refTaken struct {
	w *refWorld
	m *refMessage
}

func (t refTaken) Recv(buf []byte) (Status, error) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	q := &refRequest{w: t.w, buf: buf}
	t.w.match(q, t.m)
	return q.finish()
}

func (w *refWorld) Probe(source, tag int) (Status, error) {
	for {
		if there, st, err := w.Iprobe(source, tag); there {
			return st, err
		}
		w.mu.Lock()
		if !w.deliver() && w.take(&refRequest{w: w, source: source, tag: tag}, true) == nil {
			w.cond.Wait()
		}
		w.mu.Unlock()
	}
}

func (w *refWorld) WaitAll(reqs []Request) (first error) {
	for _, r := range reqs {
		if _, err := r.Wait(); err != nil {
			first = err
		}
	}
	return first
}

func (w *refWorld) WaitAny(reqs []Request) (int, Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := func() int { return slices.IndexFunc(reqs, func(r Request) bool { return r.(*refRequest).done }) }
	w.wait(func() bool { return done() >= 0 })
	st, err := reqs[done()].(*refRequest).finish()
	return done(), st, err
}

func (w *refWorld) Barrier() error { return w.Sum(nil) }

func (w *refWorld) Sum(v []int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.arrived == 0 {
		w.sum = make([]int64, len(v))
	}
	for i, x := range v {
		w.sum[i] += x
	}
	round := w.round
	if w.arrived++; w.arrived == w.n {
		w.result, w.arrived = w.sum, 0
		w.round++
		w.cond.Broadcast()
	}
	w.wait(func() bool { return w.round != round })
	copy(v, w.result)
	return nil
}

package randprog

import (
	"bytes"
	"fmt"
)

// settle waits for the sends that were cancelled, so that the announcement can
// tell which are gone. MPI_Wait is local after MPI_Cancel.
func (t *thread) settle() {
	for _, o := range t.p.ops(t.id, t.phase, exchange) {
		if q := t.reqs[o.ID]; q != nil && q.s != nil && q.cancelled && !q.done {
			st, err := q.req.Wait()
			t.complete(q, &st, err)
		}
	}
}

// drain ends the phase for a thread once every send is posted and gone names
// the cancelled ones: it receives what it is owed, sees its sends complete and
// cancels the receives that nothing is left for.
func (t *thread) drain(gone map[int]bool) {
	owed, tags := 0, []int{}
	known := map[int]bool{}
	for _, o := range t.p.sentTo(t.id, t.phase) {
		if gone[o.ID] {
			continue
		}
		owed++
		if !known[o.Tag] {
			known[o.Tag] = true
			tags = append(tags, o.Tag)
		}
	}
	if t.p.single(t.id) && t.rng.IntN(2) == 0 {
		tags = []int{AnyTag}
	}
	look := func() { t.leftOver(tags[t.rng.IntN(len(tags))]) }
	if t.p.Rules.paired() {
		look = t.collector(gone)
	}
	for t.got < owed && !t.watch.hangs() {
		t.testAll(func(q *pending) bool { return true })
		if t.got < owed {
			look()
		}
		pause(0)
	}
	t.finishSends()
	for len(t.live) > 0 {
		q := t.live[t.rng.IntN(len(t.live))]
		if !q.cancelled {
			t.cancel(q)
		}
		st, err := q.req.Wait()
		t.complete(q, &st, err)
	}
}

// testAll tests the requests in flight that want accepts, once each.
func (t *thread) testAll(want func(*pending) bool) {
	for _, q := range append([]*pending(nil), t.live...) {
		if !want(q) {
			continue
		}
		if done, st, err := q.req.Test(); done {
			t.complete(q, &st, err)
		} else if err != nil {
			t.problem("test of #%d, which is not complete: %v", q.op, err)
		}
	}
}

// leftOver receives a message with the tag that no receive was posted for, if
// there is one.
func (t *thread) leftOver(tag int) {
	var m Taken
	there, st, err := false, Status{}, error(nil)
	if t.rng.IntN(2) == 0 {
		m, st, err = t.w.Improbe(AnySource, tag)
		there = m != nil
	} else {
		there, st, err = t.w.Iprobe(AnySource, tag)
	}
	if err != nil {
		t.problem("iprobe(%s): %v", pattern(AnySource, tag), err)
	}
	if !there {
		return
	}
	t.note(-1, event{what: found, st: st, has: true})
	t.tally.LeftOver++
	size := st.Bytes
	switch t.rng.IntN(8) {
	case 0:
		size = t.rng.IntN(size + 1)
	case 1:
		size += t.rng.IntN(5000)
	}
	t.probed(-1, AnySource, tag, min(size, maxMessage), st, m)
}

// finishSends sees all sends of the thread complete. It owes nothing any more,
// and its peers get to the same point without it, so it may block.
func (t *thread) finishSends() {
	sends := func() (list []*pending) {
		for _, q := range t.live {
			if q.s != nil {
				list = append(list, q)
			}
		}
		return list
	}
	switch how := t.rng.IntN(4); how {
	case 0:
		if list := sends(); len(list) > 0 {
			t.waitAll(-1, list)
		}
	case 1:
		for list := sends(); len(list) > 0; list = sends() {
			n := len(list)
			t.waitAny(-1, list)
			if len(sends()) == n { // reported; not again for ever
				break
			}
		}
	case 2:
		for list := sends(); len(list) > 0 && !t.watch.hangs(); list = sends() {
			t.testAll(func(q *pending) bool { return q.s != nil })
			pause(0)
		}
	default:
		for _, q := range sends() {
			st, err := q.req.Wait()
			t.complete(q, &st, err)
		}
	}
}

// finish compares what the thread received, and what became of its buffers,
// with the model. All communication of the phase has ended.
func (t *thread) finish(gone map[int]bool) {
	in := Inbox{Seed: t.p.Seed, Receives: t.receives, Peeks: t.peeks}
	for _, o := range t.p.sentTo(t.id, t.phase) {
		in.Messages = append(in.Messages, Message{
			Op: o.ID, Stream: o.Thread, Source: t.p.Threads[o.Thread].Rank, Tag: o.Tag, Size: o.Size, Gone: gone[o.ID],
		})
	}
	problems := Check(in)
	for _, s := range t.sent {
		b := inner(s.region)
		if !bytes.Equal(b, scribbles[:len(b)]) || !allGuard(s.region[:guardSize]) ||
			!allGuard(s.region[guardSize+len(b):]) {
			problems = append(problems, fmt.Sprintf("the buffer of send #%d was written", s.op.ID))
		}
	}
	for _, p := range problems {
		t.problem("phase %d, thread %d.%d: %s", t.phase, t.rank, t.p.Threads[t.id].Index, p)
	}
	if len(problems) == 0 {
		t.arena.clean()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.player.tally.Add(t.tally)
}

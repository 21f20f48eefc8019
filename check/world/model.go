package world

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// The rule of MPI (non-overtaking, thesis 3.2.6), applied when nothing is left
// to happen.
//
// Take the receives of a rank in posting order. Each that has completed must
// have got, of the source that its status names, the first message which its
// arguments match and no receive before it got. Package test/randprog shows
// that this is exactly MPI's rule, not merely a part of it.
//
// What is incomplete must have no counterpart: a pending receive and a message
// that nobody got do not match each other; a message that somebody got leaves
// its send complete; and a request whose cancelling was asked for completes in
// any case. So no request waits unless the program itself leaves it alone, and
// whoever waits has somebody who will wake it.

// Settled checks a state in which nothing is in flight and no program can go
// on.
func (w *World) Settled() {
	if w.cfg.Broken {
		w.broken()
		return
	}
	for _, r := range w.living() {
		if w.failure == nil {
			w.match(r)
		}
	}
	for _, r := range w.living() {
		if w.failure == nil {
			w.leftover(r)
			w.forgotten(r)
		}
	}
}

// messagesTo returns the sends to a rank that were not cancelled, of ranks that
// are alive, by source and in the order of posting.
func (w *World) messagesTo(to int) (msgs []*Request) {
	for _, r := range w.living() {
		for _, s := range r.reqs {
			if s.Op.Kind == Send && s.Op.Peer == to && !w.apart(s) && !s.Cancelled() {
				msgs = append(msgs, s)
			}
		}
	}
	return msgs
}

// old reports whether a request is of a communicator that its rank has freed.
func (w *World) old(q *Request) bool { return q.gen != w.ranks[q.Rank].ctx[q.Op.Comm].Gen }

// apart reports whether the peer of a request has another generation of its
// communicator open.
func (w *World) apart(q *Request) bool {
	return q.Op.Peer >= 0 && w.ranks[q.Op.Peer].ctx[q.Op.Comm].Gen != q.gen
}

// match applies the rule to the receives of a rank.
func (w *World) match(r *rank) {
	msgs := w.messagesTo(r.id)
	taken := make(map[*Request]*Request)
	first := func(o Op, source int) *Request {
		for _, m := range msgs {
			if (source < 0 || m.Rank == source) && fits(o, m.Op, m.Rank) && taken[m] == nil {
				return m
			}
		}
		return nil
	}
	seen := 0
	probes := func(posted int) {
		for ; seen < len(r.probes) && r.probes[seen].after <= posted; seen++ {
			w.checkProbe(r, &r.probes[seen], first)
		}
	}
	for i, q := range r.reqs {
		probes(i)
		if q.Op.Kind != Recv || w.old(q) || w.lostPeer(q) || q.held == nil && !q.r.Done || q.status.Cancelled {
			continue
		}
		if q.held != nil {
			q.got = first(q.Op, int(q.held.Src))
			if q.got == nil || q.got.Op.Size != q.held.Size || q.got.Op.Tag != q.held.Tag {
				w.fail(r.id, "%s has extracted a message that it should not", w.Name(q))
				return
			}
			taken[q.got] = q
			continue
		}
		m := first(q.Op, int(q.status.Source))
		switch {
		case m == nil:
			w.fail(r.id, "%s completed, but no message from rank %d is left for it", w.Name(q), q.status.Source)
			return
		case q.got != nil && q.got != m:
			w.fail(r.id, "%s got %s, but should have got %s", w.Name(q), w.Name(q.got), w.Name(m))
			return
		case m.Op.Size != q.status.Size || m.Op.Tag != q.status.Tag:
			w.fail(r.id, "%s should have got %s, but its status says tag %d, %d B", w.Name(q), w.Name(m),
				q.status.Tag, q.status.Size)
			return
		}
		taken[m] = q
		q.got = m
	}
	probes(len(r.reqs))
	for i, q := range r.reqs {
		if !q.r.Done && q.held == nil && w.depends(q) {
			w.fail(r.id, "%s is incomplete although a rank that it depends on has died", w.Name(q))
		}
		if q.Op.Kind != Recv || w.old(q) || q.held != nil {
			continue
		}
		if !q.r.Done {
			if q.CancelledAt != 0 && w.apart(q) {
				continue // the question waits until the other rank has opened the communicator
			}
			if q.CancelledAt != 0 {
				w.fail(r.id, "%s was to be cancelled, and never completes", w.Name(q))
			} else if m := first(q.Op, -1); m != nil {
				w.fail(r.id, "%s and %s match, but nothing is in flight and neither is complete", w.Name(q), w.Name(m))
			}
		} else if q.status.Cancelled {
			w.passedOver(r, q, r.reqs[i+1:])
		}
	}
	for _, s := range msgs {
		switch q := taken[s]; {
		case q != nil && q.held != nil:
		case q != nil && !s.r.Done:
			w.fail(s.Rank, "%s got the message of %s, which never completes", w.Name(q), w.Name(s))
		case q == nil && s.r.Done && s.Op.Sync:
			w.fail(s.Rank, "%s, which is synchronous, has completed, but no receive took its message", w.Name(s))
		case q == nil && !s.r.Done && s.CancelledAt != 0:
			w.fail(s.Rank, "%s was to be cancelled, and never completes", w.Name(s))
		}
	}
	if r.pc < len(r.program) && (r.blocked == nil || r.blocked.r.Done) {
		if o := r.program[r.pc]; o.Kind == Probe && first(o, -1) != nil {
			w.fail(r.id, "%s waits although there is a message", o)
		}
	}
}

// checkProbe checks what a probe found: the message that a receive posted in
// its place would get. A message that was cancelled later may have been there.
func (w *World) checkProbe(r *rank, p *finding, first func(Op, int) *Request) {
	for _, s := range w.ranks[p.st.Source].reqs {
		if s.Cancelled() && s.Op.Peer == r.id && fits(p.op, s.Op, s.Rank) && s.Op.Tag == p.st.Tag &&
			s.Op.Size == p.st.Size {
			return
		}
	}
	if w.ranks[p.st.Source].dead || p.gen != r.ctx[p.op.Comm].Gen {
		return
	}
	m := first(p.op, int(p.st.Source))
	if m == nil || m.Op.Tag != p.st.Tag || m.Op.Size != p.st.Size {
		w.fail(r.id, "%s found tag %d, %d B from rank %d, which is not what a receive would get",
			p.op, p.st.Tag, p.st.Size, p.st.Source)
	}
}

// passedOver checks a receive that was cancelled: no later one may have got a
// message that it matches and have been complete when its cancelling was asked
// for.
func (w *World) passedOver(r *rank, q *Request, later []*Request) {
	for _, l := range later {
		if l.Op.Kind == Recv && l.got != nil && q.takes(l.got) && q.doneBefore>>(l.ID&63)&1 != 0 {
			w.fail(r.id, "%s was cancelled after %s had got a message that it matches", w.Name(q), w.Name(l))
		}
	}
}

// leftover checks that a protocol has nothing left that has no counterpart: a
// probe finds the messages that nobody got, and no others; and what it counts
// is what happened.
func (w *World) leftover(r *rank) {
	received := uint64(0)
	open := 0
	for _, q := range r.reqs {
		if q.Op.Kind == Recv && q.r.Done && !q.status.Cancelled && !q.fast {
			received++
		}
		if !q.r.Done && q.held == nil {
			open++
		}
	}
	if n := r.proto.Counters().Receives; n != received {
		w.fail(r.id, "%d receives are counted, %d have completed", n, received)
	}
	lines := 0
	r.proto.Waiting(func(string) { lines++ })
	if lines < open {
		w.fail(r.id, "%d requests are incomplete, but the protocol says of %d what they wait for", open, lines)
	}
	if open == 0 {
		if n := r.proto.Needs(); n != 0 && !slices.ContainsFunc(r.reqs, w.copied) {
			w.fail(r.id, "every request has completed, but the protocol still needs something (%b)", n)
		}
		r.proto.Waiting(func(line string) {
			if !slices.ContainsFunc(r.reqs, w.copied) {
				w.fail(r.id, "every request has completed, but the protocol still has: %s", line)
			}
		})
		for i := range r.dev.slots {
			s := &r.dev.slots[i]
			if stands := w.cfg.Standing && s.owner == nil; s.open && !stands && (s.owner == nil || !w.copied(s.owner)) {
				w.fail(r.id, "every request has completed, but a buffer is still exposed")
			}
		}
	}
	w.idleStands(r)
	if w.cfg.NoProbe {
		return
	}
	for comm := range r.ctx {
		for _, source := range w.living() {
			w.kept(r, comm, source.id)
		}
	}
}

// idleStands checks that buffers stand only for channels that have been received on, in communicators that are
// open, and not for a rank that has died.
func (w *World) idleStands(r *rank) {
	if !w.cfg.Standing || !w.together() {
		return
	}
	type channel struct {
		comm, peer int
		tag        int32
	}
	channels := make(map[channel]bool)
	for _, q := range r.reqs {
		if q.Op.Kind == Recv && !w.old(q) && (q.Op.Peer < 0 || !r.told || !w.ranks[q.Op.Peer].dead) {
			channels[channel{q.Op.Comm, q.Op.Peer, q.Op.Tag}] = true
		}
	}
	stand := 0
	for i := range r.dev.slots {
		if s := &r.dev.slots[i]; s.open && s.owner == nil {
			stand++
		}
	}
	if stand > 2*len(channels) {
		w.fail(r.id, "%d buffers stand, but messages are received on %d channels", stand, len(channels))
	}
}

// kept checks what a rank has of messages from a source that nobody got.
func (w *World) kept(r *rank, comm, source int) {
	st, found, _ := r.proto.Probe(r.ctx[comm], int32(source), variants.AnyTag)
	var want *Request
	for _, m := range w.untaken(r.id) {
		if m.Rank == source && m.Op.Comm == comm {
			want = m
			break
		}
	}
	switch {
	case found && want == nil:
		w.fail(r.id, "a message from rank %d, tag %d, %d B is kept, which nobody sent or somebody got", source,
			st.Tag, st.Size)
	case !found && want != nil:
		w.fail(r.id, "%s has not been received, and a probe does not find it", w.Name(want))
	case found && (st.Tag != want.Op.Tag || st.Size != want.Op.Size):
		w.fail(r.id, "a probe finds tag %d, %d B instead of %s", st.Tag, st.Size, w.Name(want))
	}
}

// untaken returns the messages to a rank that no receive has got, once Settled
// has assigned them.
func (w *World) untaken(to int) (left []*Request) {
	taken := make(map[*Request]bool)
	for _, q := range w.ranks[to].reqs {
		if q.got != nil {
			taken[q.got] = true
		}
	}
	for _, m := range w.messagesTo(to) {
		if !taken[m] {
			left = append(left, m)
		}
	}
	return left
}

package world

import (
	"slices"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// ActionKind is what an Action does.
type ActionKind uint8

// The actions.
const (
	Step    ActionKind = iota // rank From executes the next operation of its program
	Deliver                   // the oldest message from From to To arrives
	Land                      // the next piece of write N from From to To lands; the last one with its notification
	Notice                    // rank To looks at the notification of write N from From
	Finish                    // rank From learns that its write N is done
	Flush                     // rank From, whose messages were refused, tries again
	Doubt                     // rank From has waited for long and asks (package optimistic)
	Die                       // rank From dies
	Tell                      // rank To is told that rank From has died
	Fast                      // rank From executes the next operation of its program on the fast path
	Direct                    // the same, a receive that looks at the mailbox first
	Poll                      // the fast path of rank To takes the oldest message from From
	Enter                     // rank From enters the protocol, which posts what is pending on the fast path
)

// Action is one step of the world.
type Action struct {
	Kind     ActionKind
	From, To uint8
	N        uint8 // among the writes that From has started, or To if an agent does it; of what Executes, see Choose
	Agent    bool
}

// Executes reports whether an action is one of those by which a rank executes the next
// operation of its program.
func (a Action) Executes() bool { return a.Kind == Step || a.Kind == Fast || a.Kind == Direct }

// Enabled appends the actions that can be chosen now.
func (w *World) Enabled(acts []Action) []Action {
	for _, r := range w.ranks {
		if r.dead {
			continue
		}
		if r.ready() {
			acts = append(acts, Action{Kind: Step, From: uint8(r.id)})
			acts = r.alternatives(acts, r.program[r.pc], 0)
		}
		if r.pc == len(r.program) && r.chosen == 0 {
			for i, o := range r.choices {
				if o.Kind == Free && !r.idle(o.Comm) {
					continue
				}
				acts = append(acts, Action{Kind: Step, From: uint8(r.id), N: uint8(i + 1)})
				acts = r.alternatives(acts, o, i+1)
			}
		}
	}
	return w.deaths(w.inFlight(acts))
}

// inFlight appends the actions that carry on what is under way.
func (w *World) inFlight(acts []Action) []Action {
	n := w.cfg.Ranks
	for i := range w.queues {
		if w.ranks[i%n].dead {
			continue
		}
		for _, at := range w.deliverable(&w.queues[i]) {
			acts = append(acts, Action{Kind: Deliver, From: uint8(i / n), To: uint8(i % n), N: uint8(at)})
			if f := w.ranks[i%n].fast; f != nil && at == 0 && f.polls(i/n) {
				acts = append(acts, Action{Kind: Poll, From: uint8(i / n), To: uint8(i % n)})
			}
		}
	}
	for _, r := range w.ranks {
		for i, v := range r.writes {
			if w.interrupted(v) {
				if v.to != r.id && !r.dead && !v.finished {
					acts = append(acts, Action{Kind: Finish, From: uint8(v.from), To: uint8(v.to), N: uint8(i)})
				}
				continue
			}
			a := Action{From: uint8(v.from), To: uint8(v.to), N: uint8(i), Agent: v.agent}
			if w.noticeable(v) {
				a.Kind = Notice
				acts = append(acts, a)
			}
			if w.lands(v) {
				a.Kind = Land
				acts = append(acts, a)
				acts = w.early(acts, v, a)
				continue
			}
			if !v.finished && !r.dead {
				a.Kind = Finish
				acts = append(acts, a)
			}
		}
		if r.dead {
			continue
		}
		if r.fast != nil && len(r.fast.pending) > 0 {
			acts = append(acts, Action{Kind: Enter, From: uint8(r.id)})
		}
		if r.doubts() {
			acts = append(acts, Action{Kind: Doubt, From: uint8(r.id)})
		}
		if w.cfg.Capacity > 0 && r.proto.Needs()&variants.NeedsProgress != 0 {
			for to := range n {
				if w.queue(r.id, to).refused && w.room(r.id, to) || r.dev.full == to+1 && r.dev.agentRoom(to) {
					acts = append(acts, Action{Kind: Flush, From: uint8(r.id)})
					break
				}
			}
		}
	}
	return acts
}

// ready reports whether the next operation of a rank can be executed.
func (r *rank) ready() bool {
	if r.pc >= len(r.program) || r.blocked != nil && !r.blocked.r.Done {
		return false
	}
	switch o := &r.program[r.pc]; o.Kind {
	case Probe:
		return !o.Block || r.tried != r.moment
	case Free:
		return r.idle(o.Comm)
	case Wait:
		return o.Req >= len(r.reqs) || r.reqs[o.Req].r.Done
	}
	return true
}

// Fingerprint identifies a state. A protocol has no clock and no random
// numbers, so the state of a rank is a function of all that it has been given,
// in order; what is in flight is a function of what all ranks have been given;
// and whether data has landed is noted apart. Two orders of actions that give
// every rank the same inputs in the same order therefore lead to one state,
// and have the same fingerprint.
func (w *World) Fingerprint() uint64 {
	h := w.landed
	for _, r := range w.ranks {
		h += mix(r.history + uint64(r.id)<<56)
	}
	return h
}

// After is the Fingerprint that the world would have after an action. It is
// known without executing it.
func (w *World) After(a Action) uint64 {
	h := w.Fingerprint()
	if a.Kind == Land {
		v := w.write(a)
		return h + w.landing(v)
	}
	r := w.actor(a)
	return h - mix(r.history+uint64(r.id)<<56) + mix(mix(r.history^w.input(a))+uint64(r.id)<<56)
}

// write is the write that an action is about.
func (w *World) write(a Action) *write {
	if a.Agent {
		return w.ranks[a.To].writes[a.N]
	}
	return w.ranks[a.From].writes[a.N]
}

// actor is the rank that an action gives an input to.
func (w *World) actor(a Action) *rank {
	switch a.Kind {
	case Deliver, Notice, Tell, Poll:
		return w.ranks[a.To]
	}
	return w.ranks[a.From]
}

// input is what an action gives its actor. What a queue refuses depends on the
// others, so how much room there is counts as an input; and so do the
// notifications that a protocol finds if it looks for them, and that the peer of a
// write has died.
func (w *World) input(a Action) uint64 {
	v := uint64(a.Kind+1) | uint64(a.From)<<8 | uint64(a.N)<<16 | bit(a.Agent)<<24
	if a.Kind == Finish {
		x := w.ranks[a.From].writes[a.N]
		v |= bit(w.ranks[x.to].dead && !x.all) << 25
	}
	if a.Kind == Deliver || a.Kind == Direct {
		to := w.actor(a).id
		for _, r := range w.ranks {
			for i, x := range r.writes {
				if x.to == to && w.noticeable(x) {
					v += mix(uint64(r.id)<<8 | uint64(i) | 1<<32)
				}
			}
		}
	}
	if w.cfg.Capacity > 0 {
		r := w.actor(a)
		for to := range w.cfg.Ranks {
			v = mix(v ^ uint64(w.cfg.Capacity-len(w.queue(r.id, to).msgs))<<32 ^ uint64(r.dev.asked(to))<<40)
		}
	}
	return v
}

// landing is what a piece of a write adds to the fingerprint. A piece that must
// not land where it does gives another state than one that may.
func (w *World) landing(v *write) uint64 {
	bad := uint64(0)
	if w.misplaced(v) != "" {
		bad = 1
	}
	return mix(uint64(w.owner(v).id)<<32 | v.mark() | bad<<4 | 5)
}

// owner is the rank that has a write in its list.
func (w *World) owner(v *write) *rank {
	if v.agent {
		return w.ranks[v.to]
	}
	return w.ranks[v.from]
}

// mark tells the writes of a rank, and their pieces, apart.
func (v *write) mark() uint64 { return uint64(v.index)<<16 | uint64(v.pieces)<<8 }

// give notes an input of a rank.
func (r *rank) give(in uint64) {
	r.w.digests[r.id] = 0
	r.given = mix(r.given ^ in)
}

// touch notes that something has happened to a rank that is not an input of
// its protocol.
func (w *World) touch(r *rank, h uint64) {
	w.digests[r.id] = 0
	r.touched += h
}

func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// Do executes an action that is enabled.
func (w *World) Do(a Action) {
	if w.Log != nil {
		w.log(Event{Kind: Began, Action: a})
	}
	if a.Kind == Land {
		w.land(w.write(a))
		return
	}
	r := w.actor(a)
	in := w.input(a)
	r.history = mix(r.history ^ in)
	r.give(in)
	r.moment++
	if a.Executes() {
		if a.N > 0 {
			r.chosen = int(a.N)
			r.program = append(slices.Clip(r.program), r.choices[a.N-1])
			r.planned = 0
		}
		r.give(r.program[r.pc].hash())
	}
	if a.Kind == Fast || a.Kind == Poll {
		r.alone(a)
		return
	}
	r.enter()
	switch a.Kind {
	case Enter:
	case Direct:
		o := r.program[r.pc]
		if o.Kind == Probe {
			r.probed(o, r.peek(o))
			break
		}
		r.pc++
		if q := r.direct(o); o.Block {
			r.blocked = q
		}
	case Step:
		r.step()
	case Deliver:
		m := r.next(int(a.From), int(a.N))
		r.proto.Deliver(m.header, m.payload[:m.n])
	case Notice:
		v := w.write(a)
		if i, n, ok := w.notice(v); ok {
			r.proto.Notified(i, n)
		}
	case Finish:
		v := r.writes[a.N]
		v.finish()
		if w.Log != nil {
			w.log(Event{Kind: Finished, Rank: r.id, Peer: v.to, ID: v.id})
		}
		r.progress()
	case Flush:
		for to := range w.cfg.Ranks {
			w.queue(r.id, to).refused = false
		}
		r.dev.full = 0
		r.progress()
	case Doubt:
		r.doubted = r.moment
		r.proto.(doubter).Doubt()
	case Die:
		w.die(r)
		return
	case Tell:
		w.tell(r, int(a.From))
	}
	r.settle()
	r.leave()
}

// alone does what needs no call of the protocol.
func (r *rank) alone(a Action) {
	if a.Kind == Fast {
		o := r.program[r.pc]
		r.pc++
		if q := r.fast.execute(o); o.Block {
			r.blocked = q
		}
	} else {
		r.fast.poll(int(a.From))
	}
	r.settle()
}

// progress lets the protocol carry on what it can by itself.
func (r *rank) progress() {
	const enough = 100
	if r.proto.Needs()&variants.NeedsProgress == 0 {
		r.w.fail(r.id, "there is something to do, but the protocol does not say that it needs progress")
	}
	for n := 0; r.proto.Progress(); n++ {
		if n == enough {
			r.w.fail(r.id, "Progress says for ever that it got somewhere")
			return
		}
	}
}

// notice takes the notification of a write to a rank that looks at it now.
func (w *World) notice(v *write) (slot int, n rdmaeng.Notification, ok bool) {
	slot, s := v.target(w)
	n = v.t.Notify
	if s.changed() {
		n, s.watch = *s.watch, nil
		v.noticed = v.t.Silent
	} else {
		v.noticed = true
	}
	w.touch(w.owner(v), mix(v.mark()|1|bit(!v.noticed)<<1))
	w.ranks[v.to].give(v.hash())
	if s == nil {
		w.fail(v.to, "a receive has completed before the notification of the write into its buffer was looked at")
		return slot, n, false
	}
	s.full = false
	if w.Log != nil {
		w.log(Event{Kind: Noticed, Rank: v.to, Peer: v.from, ID: v.id, Notice: n, Stands: s.owner == nil})
	}
	return slot, n, true
}

// land lets the next piece of a write land.
func (w *World) land(v *write) {
	h := w.landing(v)
	w.landed += h
	if v.loan != nil {
		h = mix(h ^ uint64(v.loan.req.send)<<48) // the lender sees which has been copied
	}
	w.touch(w.ranks[v.from], h)
	w.touch(w.ranks[v.to], mix(h^v.hash()^checksum(v.source())))
	if bad := w.misplaced(v); bad != "" {
		w.fail(v.to, "%s", bad)
		v.pieces, v.all = v.pieces+1, true
		return
	}
	_, s := v.target(w)
	src := v.source()
	from, to := 0, len(src)
	if w.cfg.Pieces == 2 && to > 1 && v.loan == nil {
		if v.pieces == 0 {
			to /= 2
		} else {
			from = to / 2
		}
		from, to = w.reversed(v, from, to)
	}
	copy(s.buf[from:], src[from:to])
	v.pieces++
	v.all = w.cfg.Pieces == 1 || v.loan != nil || v.pieces == 2 || len(src) <= 1
	s.full = v.all
	if v.loan != nil {
		v.loan.copied = true
	}
	if w.Log != nil {
		w.log(Event{Kind: Landed, Rank: v.to, Peer: v.from, ID: v.id, Size: to - from, All: v.all})
	}
	w.ranks[v.to].settle()
}

// misplaced says why a write must not land now, "" if it may.
func (w *World) misplaced(v *write) string {
	_, s := v.target(w)
	if v.agent && v.loan == nil {
		if _, src := w.ranks[v.from].dev.at(v.offered.Notify); src == nil {
			return "an agent reads a buffer that is not offered any more"
		}
	}
	switch {
	case s == nil:
		return "a write lands in a buffer that is not exposed any more"
	case w.cfg.Standing && s.owner == nil && s.full:
		return "a write lands in a buffer that stands before the last one has been shown"
	case w.cfg.Standing && s.owner == nil && len(v.t.Src) <= len(s.buf):
		return ""
	case s.owner == nil || s.owner.Op.Kind != Recv:
		return "a write lands in a buffer of no receive"
	case s.owner.r.Done:
		return "a write lands in the buffer of a receive that has completed"
	case len(v.t.Src) > len(s.buf):
		return "a write lands that is longer than the buffer"
	case v.req != nil && v.req.r.Done && v.taken == nil && len(v.t.Src) > 0 && &v.t.Src[0] == &v.req.r.Buf[0]:
		return "a write takes its data from the buffer of a send that has completed"
	}
	return ""
}

// step executes the next operation of the rank's program.
func (r *rank) step() {
	o := r.program[r.pc]
	switch o.Kind {
	case Send, Recv:
		r.pc++
		q := r.post(o)
		if o.Block {
			r.blocked = q
		}
	case Probe:
		r.probed(o, r.probe(o))
	case Cancel:
		r.pc++
		if o.Req < len(r.reqs) && r.reqs[o.Req].held == nil {
			r.cancel(r.reqs[o.Req])
		}
	case Extract:
		r.pc++
		r.extract(o)
	case Take:
		r.pc++
		r.takeNewest()
	case Free:
		r.pc++
		if r.w.Log != nil {
			r.w.log(Event{Kind: Renewed, Rank: r.id, Op: o})
		}
		r.proto.Close(r.ctx[o.Comm])
		r.renew(o.Comm)
	case Wait:
		r.pc++
	}
}

// probed ends a probe, which is to be tried again if it has to wait.
func (r *rank) probed(o Op, found bool) {
	if found || !o.Block {
		r.pc++
	} else {
		r.tried = r.moment
	}
}

// takeNewest receives the newest message that has been extracted, if there is
// one.
func (r *rank) takeNewest() {
	for i := len(r.reqs) - 1; i >= 0; i-- {
		if r.reqs[i].held != nil {
			r.take(r.reqs[i])
			return
		}
	}
}

// Post executes an operation now, whatever the program of the rank says. Wait
// is not one of them.
func (w *World) Post(rank int, o Op) *Request {
	q, _ := w.PostBy(Step, rank, o)
	return q
}

// PostBy is Post in one of the ways in which an operation can be executed: Step, Fast or Direct.
// It reports false if this one cannot be chosen now.
func (w *World) PostBy(how ActionKind, rank int, o Op) (q *Request, ok bool) {
	r := w.ranks[rank]
	if how != Step {
		if !slices.Contains(r.alternatives(nil, o, 0), Action{Kind: how, From: uint8(rank)}) {
			return nil, false
		}
		if w.Log != nil {
			w.log(Event{Kind: Began, Action: Action{Kind: how, From: uint8(rank)}})
		}
	}
	r.moment++
	if how == Fast {
		q = r.fast.execute(o)
		r.settle()
		return q, true
	}
	r.enter()
	switch {
	case how == Direct && o.Kind == Probe:
		r.peek(o)
	case how == Direct:
		q = r.direct(o)
	case o.Kind == Send || o.Kind == Recv:
		q = r.post(o)
	case o.Kind == Probe:
		r.probe(o)
	case o.Kind == Cancel:
		r.cancel(r.reqs[o.Req])
	case o.Kind == Extract:
		q = r.extract(o)
	case o.Kind == Take:
		r.take(r.reqs[o.Req])
	case o.Kind == Free || o.Kind == Open:
		if w.Log != nil {
			w.log(Event{Kind: Renewed, Rank: rank, Op: o})
		}
		if o.Kind == Free {
			r.proto.Close(r.ctx[o.Comm])
		} else {
			r.renew(o.Comm)
		}
	}
	r.settle()
	r.leave()
	return q, true
}

func (r *rank) probe(o Op) bool {
	st, found, err := r.proto.Probe(r.ctx[o.Comm], int32(o.Peer), o.Tag)
	if err != nil && !r.told {
		r.w.fail(r.id, "a probe returns an error: %v", err)
	}
	if found {
		r.found(o, st)
	} else if r.w.Log != nil {
		r.w.log(Event{Kind: Probed, Rank: r.id, Op: o})
	}
	return found
}

// found notes what a probe has found.
func (r *rank) found(o Op, st variants.Status) {
	r.probes = append(r.probes, finding{op: o, st: st, gen: r.ctx[o.Comm].Gen, after: len(r.reqs)})
	if r.w.Log != nil {
		r.w.log(Event{Kind: Probed, Rank: r.id, Op: o, Found: true, Status: st})
	}
}

func (r *rank) cancel(q *Request) {
	if q.CancelledAt == 0 {
		q.CancelledAt = r.moment
		for i, o := range r.reqs {
			q.doneBefore |= bit(o.r.Done) << (i & 63)
		}
	}
	if r.w.Log != nil {
		r.w.log(Event{Kind: Asked, Rank: r.id, Request: q})
	}
	r.proto.Cancel(&q.r)
}

// finding is what a probe has found.
type finding struct {
	op    Op
	st    variants.Status
	gen   uint32
	after int // requests posted before
}

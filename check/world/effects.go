package world

// What actions do.
//
// Most actions give one rank an input. What its protocol makes of that follows from the rank's memory and from the
// input: its memory afterwards, and the messages that it sends. So what an action has done once tells the digest of the
// state that the same action leads to elsewhere, where the other ranks and the queues are different. An explorer asks
// before it executes an action: most states are reached in more ways than one.
//
// A rank may look at more than its memory and its input: at a notification that it finds, at another rank's buffer, at
// the length of a queue. Whatever lets it says so (World.looks), and what has been done then is not remembered.

// Memory is what worlds of one Config remember together.
type Memory struct {
	digests map[uint64]uint64 // of ranks, by what led to them
	effects map[uint64]effect // by cause
}

// NewMemory makes one that remembers nothing.
func NewMemory() *Memory {
	return &Memory{digests: make(map[uint64]uint64), effects: make(map[uint64]effect)}
}

// Full reports whether a memory is better given up for a new one.
func (m *Memory) Full() bool { return len(m.digests) > 1<<18 || len(m.effects) > 1<<18 }

// effect is what an action does to the rank that it gives an input to.
type effect struct {
	digest  uint64 // of the rank, afterwards
	sent    []sent // in order
	refused uint64 // by rank: a bit if a message to it has found no room
}

type sent struct {
	to   int
	hash uint64
}

// lesson is the effect of an action that is being executed.
type lesson struct {
	effect
	looked bool
}

// looks notes that what a rank does depends on more than its memory and its input.
func (w *World) looks() {
	if w.lesson != nil {
		w.lesson.looked = true
	}
}

// Foresee returns the Digest that the world would have after an action, if that is known without executing it.
func (w *World) Foresee(a Action) (digest uint64, known bool) {
	cause, ok := w.cause(a)
	if !ok {
		return 0, false
	}
	e, known := w.Memory.effects[cause]
	if !known {
		return 0, false
	}
	return w.digestWith(w.change(a, &e)), true
}

// Learn executes an action, as Do, and remembers what it does.
func (w *World) Learn(a Action) {
	cause, ok := w.cause(a)
	if !ok {
		w.Do(a)
		return
	}
	var l lesson
	w.lesson = &l
	w.Do(a)
	w.lesson = nil
	r := w.actor(a)
	for i, d := range w.digests {
		l.looked = l.looked || d == 0 && i != r.id // it has done something to another rank
	}
	if l.looked || w.failure != nil {
		return
	}
	w.digests[r.id] = w.remembered(r)
	l.digest = w.digests[r.id]
	w.Memory.effects[cause] = l.effect
}

// cause is a hash of all that the effect of an action follows from. Of some actions it follows from more.
func (w *World) cause(a Action) (h uint64, ok bool) {
	if w.Memory == nil {
		return 0, false
	}
	r := w.actor(a)
	message := uint64(0)
	switch a.Kind {
	case Step, Fast, Enter, Flush, Doubt, Tell:
	case Deliver, Poll:
		message = w.queue(int(a.From), int(a.To)).msgs[a.N].sum
	case Finish:
		before := uint8(0)
		for _, v := range r.writes[:a.N] {
			if !v.over() {
				before++
			}
		}
		a.N = before // a digest knows of no others
	default:
		return 0, false
	}
	w.digestRanks()
	h = mix(w.digests[r.id]+uint64(r.id)<<56) ^ r.plan()
	for _, o := range w.ranks { // what is sent to a rank that has died is lost
		h = mix(h ^ bit(o.dead))
	}
	h = mix(h^w.input(a)) ^ message
	for _, slot := range r.dev.free { // whose order a digest leaves out: the names of slots make no difference
		h = mix(h ^ uint64(slot))
	}
	return h, true
}

// plan is a hash of what the rank has executed and may execute.
func (r *rank) plan() uint64 {
	if r.planned == 0 {
		for _, ops := range [][]Op{r.program, r.choices} {
			r.planned = mix(r.planned ^ uint64(len(ops)))
			for _, o := range ops {
				r.planned = mix(r.planned ^ o.hash())
			}
		}
	}
	return r.planned
}

// change is a difference to the state that the world is in.
type change struct {
	*effect
	rank   int // whose effect it is; -1: there is no difference
	popped int // queue from which a message is taken; -1: none
	at     int // which of its messages
	retry  bool
}

func (w *World) change(a Action, e *effect) change {
	c := change{effect: e, rank: w.actor(a).id, popped: -1, retry: a.Kind == Flush}
	if a.Kind == Deliver || a.Kind == Poll {
		c.popped, c.at = int(a.From)*w.cfg.Ranks+int(a.To), int(a.N)
	}
	return c
}

// digestWith is the Digest of the world with a change.
func (w *World) digestWith(c change) uint64 {
	h := uint64(0)
	for i := range w.ranks {
		d := w.digests[i]
		if i == c.rank {
			d = c.digest
		}
		h += mix(d + uint64(i)<<56)
	}
	n := w.cfg.Ranks
	for i := range w.queues {
		h += mix(w.queueWith(i, i/n, i%n, c))
	}
	for _, r := range w.ranks {
		for _, v := range r.writes {
			i := v.from*n + v.to
			if left := v.behind - w.queues[i].delivered - int(bit(i == c.popped)); left > 0 && !v.noticed {
				h += mix(v.mark() ^ uint64(v.from)<<48 ^ uint64(left)<<32 ^ 7)
			}
		}
	}
	return h
}

// queueWith is the digest of queue i with a change.
func (w *World) queueWith(i, from, to int, c change) uint64 {
	q, k := &w.queues[i], uint64(i)
	for j := range q.msgs {
		if i != c.popped || j != c.at {
			k = mix(k ^ q.msgs[j].state())
		}
	}
	refused := q.refused
	if from == c.rank {
		for _, s := range c.sent {
			if s.to == to {
				k = mix(k ^ s.hash)
			}
		}
		refused = refused && !c.retry || c.refused>>to&1 != 0
	}
	return k + bit(refused)
}

package sim

import "errors"

// routine is one of a rank's two flows of control: the program with its MPI calls,
// and what makes progress in the background. They share the rank's clock, since they
// exclude each other: while one is in the middle of a call the other is not resumed.
type routine struct {
	e     *Endpoint
	body  func()
	next  func() (struct{}, bool) // of its coroutine, once it has begun
	stop  func()
	yield func(struct{}) bool

	turn     uint32
	at       Time // of the resume that is announced, never if none is
	holding  bool // parked in the middle of a call
	deferred bool // to be resumed when the other is not holding any more
	over     bool
}

// errAborted is what a routine panics with that cannot go on.
var errAborted = errors.New("the simulation has ended")

func (s *Sim) routineOf(i int32) *routine {
	if i&1 == 0 {
		return &s.ends[i>>1].main
	}
	return &s.ends[i>>1].back
}

func (r *routine) number() int32 {
	n := int32(r.e.rank) << 1
	if r == &r.e.back {
		n++
	}
	return n
}

func (r *routine) other() *routine {
	if r == &r.e.back {
		return &r.e.main
	}
	return &r.e.back
}

func (r *routine) start(yield func(struct{}) bool) {
	defer func() {
		if p := recover(); p != nil && p != errAborted {
			panic(p)
		}
	}()
	r.yield = yield
	r.e.current = r
	r.body()
}

// goOn announces that the routine is resumed at a time, unless it is announced for an
// earlier one.
func (r *routine) goOn(at Time) {
	if at >= r.at {
		return
	}
	r.at = at
	r.turn++
	r.e.s.agenda.push(at, resume, r.number(), r.turn)
}

// enter makes a routine the current one of its rank, if the other one is not holding.
func (r *routine) enter(at Time) bool {
	r.at = never
	if r.other().holding {
		r.deferred = true
		return false
	}
	if r.holding {
		r.holding = false
	} else {
		r.e.clock = max(at, r.e.busy)
	}
	r.e.current = r
	return true
}

// park lets others run until the routine is resumed. The caller has announced that,
// or knows that somebody will.
func (r *routine) park() {
	s := r.e.s
	if s.aborted {
		panic(errAborted)
	}
	if !r.holding {
		r.release()
	}
	if next := s.dispatch(); next != r {
		s.handoff = next
		if !r.yield(struct{}{}) {
			panic(errAborted)
		}
	}
}

// release lets the rank's other routine run if it has been waiting for this one.
func (r *routine) release() {
	e := r.e
	e.busy = e.clock // the other does not run in what is this one's past
	if o := r.other(); o.deferred {
		o.deferred = false
		o.goOn(e.clock)
	}
	if e.due {
		e.due = false
		e.lookAt(e.clock)
	}
}

// end is what becomes of a routine that has returned.
func (r *routine) end() {
	r.over = true
	r.release()
	if e := r.e; r == &e.main {
		e.s.live--
		e.finished = e.clock
	} else if e.joining {
		e.main.goOn(e.clock)
	}
}

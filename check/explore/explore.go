// Package explore runs small programs over a protocol in every order in which
// the devices can deliver messages, land writes and show notifications, and
// checks each state that is reached (package check/world says for what).
//
//	Alphabet -> Programs, Sample -> Explore each -> Report
//	                                     \-> on a violation: Shrink -> Counterexample
//
// # How states are enumerated
//
// Explore searches depth first. A state is never copied: to try another action
// in an earlier state, the world is made again and the actions up to there are
// repeated, which for a dozen steps costs a few microseconds. States are
// recognised by World.Fingerprint, so that each is visited once: two orders
// that give every rank the same inputs in the same order lead to the same
// state. The fingerprint of a successor is known before the action is executed,
// so an action that leads to a known state costs nothing but a look-up. Nor is an
// action executed of which it is known from elsewhere that it leads to a known state
// (World.Foresee).
//
// Programs that differ only in the last operation of each rank are explored
// together, as a Family: what happens before the last operations is then
// visited once for all of them.
//
// docs/exploring.md argues why the checks lose nothing by this, and why programs
// with blocking calls need not be enumerated.
package explore

import (
	"github.com/exanet-mpi/exanet/check/world"
)

// Stats counts what an exploration has covered.
type Stats struct {
	Programs    int
	States      int // distinct, summed over programs
	Transitions int // actions between them
	Executed    int // of those
	Settled     int // states in which nothing was left to happen
}

func (s *Stats) add(o Stats) {
	s.Programs += o.Programs
	s.States += o.States
	s.Transitions += o.Transitions
	s.Executed += o.Executed
	s.Settled += o.Settled
}

// Failure is a violation and the actions that lead to it. If they lead to a
// settled state, the violation was found there or in closing.
type Failure struct {
	Config    world.Config
	Program   world.Program
	Actions   []world.Action
	Settled   bool
	Violation *world.Violation
}

func (f *Failure) Error() string { return f.Violation.Error() }

// explorer explores families one after the other and keeps its memory.
type explorer struct {
	cfg      world.Config
	family   Family
	w        *world.World
	stale    bool // w is not in the state of path
	path     []world.Action
	acts     [][]world.Action // by depth
	digests  [][]uint64       // by depth
	ahead    [][]successor    // by depth
	seen     map[uint64]struct{}
	memory   *world.Memory
	exact    bool   // tell states apart by their fingerprints alone
	distrust func() // called when what is remembered is wrong; nil: do not look
	stats    Stats
	failure  *Failure
}

// successor is what is known of the state to which an action leads, before it is executed.
type successor struct {
	fingerprint, digest uint64
	foreseen            bool // the digest
}

// Explore visits every state of a program and returns what it has counted, and
// the first violation, nil if there is none.
func Explore(cfg world.Config, program world.Program) (Stats, *Failure) {
	e := &explorer{cfg: cfg}
	f := e.explore(Single(program))
	return e.stats, f
}

func (e *explorer) explore(f Family) *Failure {
	e.family, e.failure = f, nil
	e.path = e.path[:0]
	if len(e.seen) > 1<<14 {
		e.seen = nil // clearing a large map takes as long for a small program
	}
	if e.seen == nil {
		e.seen = make(map[uint64]struct{})
	}
	if !e.exact && (e.memory == nil || e.memory.Full()) {
		e.memory = world.NewMemory()
	}
	clear(e.seen)
	e.w, e.stale = e.replay(), false
	e.seen[e.w.Fingerprint()] = struct{}{}
	e.stats.Programs += f.Size
	e.stats.States++
	e.visit()
	return e.failure
}

// visit explores what follows the state of path.
func (e *explorer) visit() {
	depth := len(e.path)
	if depth == len(e.acts) {
		e.acts = append(e.acts, nil)
		e.digests = append(e.digests, nil)
		e.ahead = append(e.ahead, nil)
	}
	acts := e.w.Enabled(e.acts[depth][:0])
	settled := e.family.settled(e.w, acts)
	acts = e.family.allowed(e.w, acts)
	e.acts[depth] = acts
	e.digests[depth] = e.w.Digests(e.digests[depth])
	ahead := e.ahead[depth][:0] // of all, while the world is in this state
	for _, a := range acts {
		s := successor{fingerprint: e.w.After(a)}
		if !e.known(s.fingerprint) {
			s.digest, s.foreseen = e.w.Foresee(a)
		}
		ahead = append(ahead, s)
	}
	e.ahead[depth] = ahead
	if settled {
		e.settle()
		e.stale = true
	}
	e.stats.Transitions += len(acts)
	for i, a := range acts {
		if e.failure != nil {
			return
		}
		s := ahead[i]
		if !e.fresh(s.fingerprint) || s.foreseen && e.known(s.digest) && e.distrust == nil {
			continue
		}
		if e.stale {
			e.w, e.stale = e.replay(), false
			e.w.SetDigests(e.digests[depth])
		}
		if !s.foreseen { // perhaps it has been learnt meanwhile
			s.digest, s.foreseen = e.w.Foresee(a)
			if s.foreseen && e.known(s.digest) && e.distrust == nil {
				continue
			}
		}
		e.w.Learn(a)
		e.stats.Executed++
		e.path = append(e.path, a)
		if e.w.Violation() != nil {
			e.fail(false)
			return
		}
		if e.distrust != nil && (e.w.Digest() != e.w.DigestAnew() || s.foreseen && e.w.Digest() != s.digest) {
			e.distrust()
		}
		if e.exact || e.fresh(e.w.Digest()) {
			e.stats.States++
			e.visit()
		}
		e.path = e.path[:depth]
		e.stale = true
	}
}

// known reports whether a hash has been noted.
func (e *explorer) known(h uint64) bool {
	_, known := e.seen[h]
	return known
}

// fresh notes a hash and reports whether it is new.
func (e *explorer) fresh(h uint64) bool {
	if e.known(h) {
		return false
	}
	e.seen[h] = struct{}{}
	return true
}

// settle checks a state in which nothing is left to happen.
func (e *explorer) settle() {
	e.stats.Settled++
	e.w.Settled()
	if e.w.Violation() == nil {
		e.w.Close()
	}
	if e.w.Violation() != nil {
		e.fail(true)
	}
}

func (e *explorer) fail(settled bool) {
	program, actions := e.family.chosen(e.path)
	e.failure = &Failure{Config: e.cfg, Program: program, Actions: actions, Settled: settled,
		Violation: e.w.Violation()}
}

// replay makes the world that path leads to.
func (e *explorer) replay() *world.World {
	w := world.New(e.cfg, e.family.Prefix)
	for r, ops := range e.family.Last {
		w.Choose(r, ops)
	}
	w.Memory = e.memory
	for _, a := range e.path {
		w.Do(a)
	}
	return w
}

// replay makes the world that a program and actions lead to.
func replay(cfg world.Config, program world.Program, path []world.Action) *world.World {
	w := world.New(cfg, program)
	for _, a := range path {
		w.Do(a)
	}
	return w
}

package randprog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Tally counts what happened in programs.
type Tally struct {
	Programs, Operations, Messages, Receives uint64

	Truncations, Probes, Matched    uint64 // Matched: of the probes
	Passed                          uint64 // Passed: WaitAll and WaitAny that returned
	RecvCancels, RecvCancelsRefused uint64
	SendCancels, SendCancelsRefused uint64
	LeftOver                        uint64 // messages that the drain picked up
}

// Add adds u to t.
func (t *Tally) Add(u Tally) {
	t.Programs += u.Programs
	t.Operations += u.Operations
	t.Messages += u.Messages
	t.Receives += u.Receives
	t.Truncations += u.Truncations
	t.Probes += u.Probes
	t.Matched += u.Matched
	t.Passed += u.Passed
	t.RecvCancels += u.RecvCancels
	t.RecvCancelsRefused += u.RecvCancelsRefused
	t.SendCancels += u.SendCancels
	t.SendCancelsRefused += u.SendCancelsRefused
	t.LeftOver += u.LeftOver
}

// Failure is what one rank found wrong with a program.
type Failure struct {
	Program  *Program
	Rank     int
	Problems []string
	Traces   []*Trace
}

// Error has the problems and the listing.
func (f *Failure) Error() string {
	problems := f.Problems
	if len(problems) > 12 {
		problems = append(problems[:12:12], fmt.Sprintf("... and %d more", len(f.Problems)-12))
	}
	return fmt.Sprintf("seed %d, rank %d:\n\t%s\n%s", f.Program.Seed, f.Rank,
		strings.Join(problems, "\n\t"), f.Program.Listing(f.Traces...))
}

// Play runs programs one after another as one rank of w, which all its ranks
// do. A failure does not stop it, since the other ranks count on this one; it
// returns the first as a *Failure. watch may be nil.
func Play(w World, programs []*Program, watch *Watch) (Tally, error) {
	var total Tally
	var first *Failure
	for _, p := range programs {
		tr := newTrace(p, w.Rank())
		watch.begin(tr)
		r := &player{p: p, w: w, rank: w.Rank(), trace: tr, watch: watch}
		r.run()
		watch.end(tr)
		total.Add(r.tally)
		if len(r.problems) > 0 && first == nil {
			first = &Failure{p, r.rank, r.problems, []*Trace{tr}}
		}
	}
	if first == nil {
		return total, nil
	}
	return total, first
}

// player is one rank that plays one program.
type player struct {
	p       *Program
	w       World
	rank    int
	trace   *Trace
	watch   *Watch
	threads []*thread

	mu       sync.Mutex // guards what follows
	problems []string
	tally    Tally
}

func (r *player) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *player) run() {
	for _, id := range r.p.threadsOf(r.rank) {
		r.threads = append(r.threads, &thread{player: r, id: id})
	}
	if r.rank == 0 {
		r.tally.Programs++
	}
	for phase := range r.p.Phases {
		if slices.ContainsFunc(r.p.Ops, func(o Op) bool { return o.Phase == phase }) {
			r.phase(phase)
		}
	}
}

// each runs f for every thread of the rank at once.
func (r *player) each(f func(*thread)) {
	var wg sync.WaitGroup
	for _, t := range r.threads[1:] {
		wg.Go(func() { f(t) })
	}
	f(r.threads[0])
	wg.Wait()
}

func (r *player) barrier(phase int, what string) {
	r.trace.at(phase, "in the barrier "+what)
	if err := r.w.Barrier(); err != nil {
		r.problem("barrier %s: %v", what, err)
	}
}

func (r *player) phase(phase int) {
	r.trace.at(phase, "in part 0")
	r.each(func(t *thread) { t.start(phase); t.part(prepost) })
	r.barrier(phase, "after part 0")
	r.trace.at(phase, "in part 1")
	r.each(func(t *thread) { t.part(exchange); t.settle() })

	r.trace.at(phase, "in the sum")
	gone := r.announce(phase)
	r.trace.at(phase, "in the drain")
	r.each(func(t *thread) { t.drain(gone) })
	r.barrier(phase, "after the drain")
	r.each(func(t *thread) { t.finish(gone) })
}

// announce tells all ranks that every send of the phase is posted, and which
// were cancelled.
func (r *player) announce(phase int) (gone map[int]bool) {
	var cancelable []int
	for i := range r.p.Ops {
		if o := &r.p.Ops[i]; o.Phase == phase && o.sends() && o.Cancelable {
			cancelable = append(cancelable, o.ID)
		}
	}
	v := make([]int64, len(cancelable)+1)
	v[0] = 1 // always something to sum, and a check of the sum itself
	for i, id := range cancelable {
		for _, t := range r.threads {
			if s := t.sent[id]; s != nil && s.cancelled {
				v[1+i]++
			}
		}
	}
	if err := r.w.Sum(v); err != nil || v[0] != int64(r.p.Ranks) {
		r.problem("sum over %d ranks of 1 is %d, error %v", r.p.Ranks, v[0], err)
	}
	gone = map[int]bool{}
	for i, id := range cancelable {
		gone[id] = v[1+i] > 0
	}
	return gone
}

package shm

import (
	"time"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Words are what a rank waits for.
type Words struct {
	mem.Words

	a     *Area
	call  uint64
	round uint64
	rank  int // the one that is waited for, negative: all others
	kind  uint64
}

// one is that a rank has published a round of a call.
func (a *Area) one(call, second uint64, rank int) Words {
	return Words{
		Words: mem.Words{First: (*uint64)(&a.slot(call, rank).round), N: 1, Skip: -1, Least: round(call, second)},
		a:     a, call: call, round: round(call, second), rank: rank, kind: forOne,
	}
}

// all is that all others have.
func (a *Area) all(call, second uint64) Words {
	return Words{
		Words: mem.Words{
			First: (*uint64)(&a.slot(call, 0).round), Stride: int(unsafe.Sizeof(slot{})),
			N: a.Ranks, Skip: a.Me, Least: round(call, second),
		},
		a: a, call: call, round: round(call, second), rank: -1, kind: forAll,
	}
}

// Rank is a rank that is waited for.
func (w *Words) Rank() int {
	if w.rank >= 0 {
		return w.rank
	}
	return min(w.a.Ranks-w.N, w.a.Ranks-1)
}

// Sleep announces that this rank is about to sleep until the words come, and Wake that it does not any
// more. Sleep reports false if they will never come. Between Sleep and the last look at the words there
// must be a fence for all ranks, unless they publish with one.
func (w *Words) Sleep() bool {
	a := w.a
	a.own.waiting.Publish((w.round<<rankBits|uint64(max(0, w.rank)))<<kindBits | w.kind)
	a.head.sleepers.Add(1)
	if w.kind == forCall {
		a.Settle() // nobody rings because of what was published before this
	}
	return !w.Vain()
}

// Wake is the end of Sleep.
func (w *Words) Wake() {
	w.a.head.sleepers.Add(^uint64(0))
	w.a.own.waiting.Publish(0)
}

// Vain reports whether the words will never come, since a rank has made another call. All ranks are told.
func (w *Words) Vain() bool {
	a := w.a
	if a.Failed() {
		return true
	}
	if a.head.ended.Load() != 0 {
		for i := range a.Ranks {
			if ended := a.line(i).ended.Load(); i != a.Me && ended != 0 && ended <= w.call+1 {
				a.fail(w.call, a.Me, i)
				return true
			}
		}
	}
	if w.kind == forCall {
		if i := a.differing(w.call, a.Me); i >= 0 {
			a.fail(w.call, a.Me, i)
			return true
		}
	}
	return false
}

// look waits a while without doing anything else, and reports whether the words have come. Where ranks share cores
// it yields if that may let an awaited rank run.
func (a *Area) look(w *Words) bool {
	for range a.Spins {
		if w.There() {
			return true
		}
	}
	if w.There() || a.Yields == 0 {
		return w.There()
	}
	if a.waits++; a.waits%checkEvery == 0 {
		return false
	}
	core := a.Core()
	if a.own.core.Load() != core {
		a.own.core.Publish(core)
	}
	most := keeps
	if w.rank >= 0 {
		most = keepsForOne
	}
	for kept, n := 0, a.Yields; n > 0; {
		if kept++; kept >= most || a.near(w, core) {
			n -= a.yield()
			kept = 0
		}
		if w.There() {
			return true
		}
	}
	return false
}

// yield lets others run, and returns what it counts as.
func (a *Area) yield() int {
	if a.HandOver == 0 {
		a.Yield()
		return 1
	}
	start := time.Now()
	a.Yield()
	if time.Since(start) < a.HandOver {
		return vain
	}
	return 1
}

// near reports whether a rank that is waited for may need this core.
func (a *Area) near(w *Words, core uint64) bool {
	for i := range a.Ranks {
		if (w.rank < 0 && i != a.Me || w.rank == i) && a.slot(w.call, i).round.Load() < w.round {
			if its := a.line(i).core.Load(); its == 0 || its == core {
				return true
			}
		}
	}
	return false
}

// publish tells that this rank's slot of a call has what belongs to a round, and wakes who sleeps for it.
func (a *Area) publish(s *slot, round uint64) {
	if a.Fenced {
		s.round.Store(round)
	} else {
		s.round.Publish(round)
	}
	if a.head.sleepers.Load() > 0 {
		a.wake()
	}
}

// wake wakes the ranks whose words have come. Of those who publish what a rank sleeps for the last one
// wakes it, so that it sleeps and wakes once in a round.
func (a *Area) wake() {
	a.head.sleepers.Add(0) // a fence: of two who publish the last words at once, one sees both
	for i := range a.Ranks {
		waiting := &a.line(i).waiting
		if v := waiting.Load(); i != a.Me && v != 0 && a.fulfilled(i, v) && waiting.CompareAndSwap(v, 0) {
			a.Ring(i)
		}
	}
}

// fulfilled reports whether what a rank sleeps for is there.
func (a *Area) fulfilled(rank int, waiting uint64) bool {
	kind, one, least := waiting&(1<<kindBits-1), int(waiting>>kindBits&(MostRanks-1)), waiting>>(kindBits+rankBits)
	call := (least - 1) / 2
	switch kind {
	case forOne:
		return a.slot(call, one).round.Load() >= least
	case forCall:
		return a.differing(call, rank) >= 0
	}
	for i := range a.Ranks {
		if i != rank && a.slot(call, i).round.Load() < least {
			return false
		}
	}
	return true
}

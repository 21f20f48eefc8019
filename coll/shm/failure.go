package shm

import (
	"fmt"

	"github.com/exanet-mpi/exanet/coll"
)

// Ranks whose calls do not match, in what is called, the root, or the form, which sizes decide: the
// first to see it tells all, and no call on the area works any more. Where sizes alone differ that is
// the error of those who see it, in this call alone.

// Part is what a rank has called.
type Part struct {
	Rank  int
	Op    coll.Collective
	Root  int
	Size  int
	Ended bool // nothing: it has ended MPI
}

func (p Part) String() string {
	switch {
	case p.Ended:
		return fmt.Sprintf("rank %d has ended MPI", p.Rank)
	case p.Op == coll.Barrier:
		return fmt.Sprintf("rank %d called %v", p.Rank, p.Op)
	}
	return fmt.Sprintf("rank %d called %v with %d bytes, root %d", p.Rank, p.Op, p.Size, p.Root)
}

// Mismatch is the error of calls that do not match.
type Mismatch struct {
	Parts  [2]Part
	Past   bool // which calls they were is not known any more
	Failed bool // they do, but the second rank has got an error
}

func (m *Mismatch) Error() string {
	switch {
	case m.Past:
		return fmt.Sprintf("ranks %d and %d have made different calls before", m.Parts[0].Rank, m.Parts[1].Rank)
	case m.Failed:
		return fmt.Sprintf("rank %d could not go on", m.Parts[1].Rank)
	}
	a, b, differ := m.Parts[0], m.Parts[1], "lengths"
	switch {
	case a.Op != b.Op || a.Ended != b.Ended:
		differ = "calls"
	case a.Root != b.Root:
		differ = "roots"
	}
	return fmt.Sprintf("different %s: %v, %v", differ, a, b)
}

// what is the word that says what is called.
func what(c *coll.Call, f Form) uint64 {
	return uint64(c.Op) | uint64(c.Root)<<rootShift | uint64(f)<<formShift | uint64(c.Bytes())<<sizeShift
}

// nothing is that of a rank that has ended MPI.
const nothing = ^uint64(0)

func part(rank int, what uint64) Part {
	return Part{
		Rank: rank, Op: coll.Collective(what), Root: int(what >> rootShift & (1<<(formShift-rootShift) - 1)),
		Size: int(what >> sizeShift), Ended: what == nothing,
	}
}

// alike reports whether two such words differ in the size at most.
func alike(a, b uint64) bool { return (a^b)<<(64-sizeShift) == 0 }

// digest is that of the calls up to one, see slot.past.
func digest(past, what uint64) uint64 { return (past^what&(1<<sizeShift-1))*mixer + 1 }

// match reports whether two ranks make the same call, whatever its sizes, and have made the same ones
// before.
func match(s, t *slot) bool {
	return alike(s.what.Load(), t.what.Load()) && s.past.Load() == t.past.Load()
}

// at reports whether a slot is of a call.
func (s *slot) at(call uint64) bool { return (s.round.Load()-1)/2 == call }

// differing is a rank whose published call does not match that of the given one, -1 if there is none.
func (a *Area) differing(call uint64, rank int) int {
	own := a.slot(call, rank)
	for i := range a.Ranks {
		if s := a.slot(call, i); i != rank && s.at(call) && !match(s, own) {
			return i
		}
	}
	return -1
}

// fail tells all ranks that the calls of two do not match, in this call or in one before.
func (a *Area) fail(call uint64, i, j int) {
	if a.Failed() {
		return
	}
	first, second := uint64(0), uint64(0)
	if a.line(j).ended.Load() != 0 {
		first, second = a.slot(call, i).what.Load(), nothing
	} else {
		for n := call; n+depth > call && a.slot(n, i).at(n) && a.slot(n, j).at(n); n-- {
			if s, t := a.slot(n, i).what.Load(), a.slot(n, j).what.Load(); !alike(s, t) {
				first, second = s, t
			}
		}
	}
	own := a.own
	own.who[0].Publish(uint64(i))
	own.who[1].Publish(uint64(j))
	own.which[0].Publish(first)
	own.which[1].Publish(second)
	if !a.head.failed.CompareAndSwap(0, uint64(1+a.Me)) {
		return
	}
	for i := range a.Ranks {
		if i != a.Me {
			a.Ring(i)
		}
	}
}

// Failed reports whether calls of the area's ranks have not matched, so that nothing may be waited for.
func (a *Area) Failed() bool { return a.head.failed.Load() != 0 }

// Failure is which ones. The area has failed.
func (a *Area) Failure() *Mismatch {
	l := a.line(int(a.head.failed.Load() - 1))
	first, second := l.which[0].Load(), l.which[1].Load()
	parts := [2]Part{part(int(l.who[0].Load()), first), part(int(l.who[1].Load()), second)}
	return &Mismatch{Parts: parts, Past: first == second}
}

// End tells the others that this rank ends MPI, and makes no call any more.
func (a *Area) End() {
	a.own.ended.Store(a.own.call + 1)
	a.head.ended.Store(1)
	for i := range a.Ranks {
		if i != a.Me {
			a.Ring(i)
		}
	}
}

//go:build interleave && cgo

package native

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// guarded are two counts that are always the same where the lock is free.
type guarded struct {
	lock   fastpath.BiasedLock
	counts [2]uint64
}

func (g *guarded) count() {
	a, b := &g.counts[0], &g.counts[1]
	interleave.Assert(*interleave.Read(a) == *interleave.Read(b), "two have the lock")
	*a++
	interleave.Wrote(a)
	*b++
	interleave.Wrote(b)
}

// calls are a program's, in C.
func calls(g *guarded) any {
	for i := range 2 {
		for {
			interleave.At(fmt.Sprint(i))
			if enter(&g.lock) {
				break
			}
			interleave.Yield()
		}
		g.count()
		leave(&g.lock)
	}
	return *interleave.Read(&g.counts[0])
}

// holds is what Go does with the rank's lock held.
func holds(g *guarded) any {
	g.lock.Enter()
	g.count()
	g.lock.Leave()
	if g.lock.TryEnter() {
		g.count()
		g.lock.Leave()
		return "twice"
	}
	return "once"
}

func locked(many bool, ranks ...func(*guarded) any) interleave.Program[*guarded] {
	return interleave.Program[*guarded]{
		World: func(m *interleave.Memory) *guarded {
			g := new(guarded)
			g.lock.Open(many)
			g.lock.Leave()
			m.Share("lock", &g.lock)
			m.Share("counts", &g.counts)
			return g
		},
		Ranks: ranks,
		Late:  4,
	}
}

var lateStores = []interleave.Model{interleave.TSO, interleave.Weak}

func TestEveryLock(t *testing.T) {
	runtime.LockOSThread() // whose number the calls tell
	defer runtime.UnlockOSThread()
	for _, model := range lateStores {
		one := locked(false, calls, holds)
		interleave.Holds(t, model, one)
		interleave.Finds(t, model, one, func(a interleave.Access) interleave.Mistake {
			if a.Kind == "membarrier" {
				return interleave.Drop
			}
			return interleave.No
		})
		interleave.Holds(t, model, locked(true, calls, holds))
	}
}

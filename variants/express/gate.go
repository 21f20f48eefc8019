package express

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Gate is the lock between the calls of a program's thread in C, which have it some hundred times
// while Go has it once, and whoever has the rank's lock in Go. A call says that it is inside, and then looks whether
// the gate is shut; Go shuts it, and then looks whether a call is inside. One of the two must not do the second before
// others see the first. That costs the call nothing, neither a locked instruction nor a fence, either of which
// would wait for the message before to reach its cache line: Go pays, for all threads, by membarrier. It need not
// where it runs on the thread that was inside last, as it does in calls that go on in Go.
//
// Where several threads may make calls at once, or the kernel has no membarrier, calls take the gate by a locked instruction.
type Gate struct {
	shut   atomic.Uint32 // 1: by who has the rank's lock
	inside atomic.Uint32 // 1: a call is
	many   uint32        // 1: calls may be from many threads
	_      uint32
	caller atomic.Uint64 // thread of the last one, see mem.Thread; 0 if many is 1
}

// Open makes the gate that of a rank's lock, which the caller has, and with it the gate. many is whether
// several threads may make calls at once. It is to be called before the first call.
func (g *Gate) Open(many bool) {
	if many || !sys.RegisterOwnBarrier() {
		g.many = 1
	}
	g.shut.Store(1)
}

// Enter takes the gate, with the rank's lock held. Who is inside never is for long, but may have
// lost the processor, to this one perhaps: who only yields may keep it for all that.
func (g *Gate) Enter() {
	g.shut.Store(1)
	if g.mine() {
		return
	}
	g.seen()
	for i := 1; g.inside.Load() != 0; i++ {
		if i%64 == 0 {
			sys.Nap()
		}
	}
}

// TryEnter takes the gate if no call is inside, with the rank's lock held.
func (g *Gate) TryEnter() bool {
	if g.inside.Load() != 0 {
		return false
	}
	g.shut.Store(1)
	if g.mine() {
		return true
	}
	g.seen()
	if g.inside.Load() != 0 {
		g.shut.Store(0)
		return false
	}
	return true
}

// Leave gives the gate back.
func (g *Gate) Leave() { g.shut.Store(0) }

// mine reports whether this thread is the one that makes calls: then it is not inside.
func (g *Gate) mine() bool { return g.caller.Load() == mem.Thread() }

// seen makes sure that every call which has not seen that the gate is shut is seen to be inside.
func (g *Gate) seen() {
	if g.many == 0 {
		sys.OwnBarrier()
	}
}

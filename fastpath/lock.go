package fastpath

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// BiasedLock is the lock between the calls of a program's thread in C, which take it some hundred times
// while Go takes it once, and whoever has the rank's lock in Go. A call says that it is inside, and then looks whether
// the lock is shut; Go shuts it, and then looks whether a call is inside. One of the two must not do the second before
// others see the first. That costs the call nothing, neither a locked instruction nor a fence, either of which
// would wait for the message before to reach its cache line: Go pays, for all threads, by membarrier. It need not
// where it runs on the thread that was inside last, as it does in calls that go on in Go.
//
// Where several threads may make calls at once, or the kernel has no membarrier, calls take the lock by a locked
// instruction.
//
//exanet:c biased_lock
type BiasedLock struct {
	shut   atomic.Uint32 // 1: by who has the rank's lock
	inside atomic.Uint32 // 1: a call is
	many   uint32        // 1: calls may be from many threads
	caller atomic.Uint64 // thread of the last one, see mem.Thread; 0 if many is 1
}

// Open makes the lock part of a rank's lock, which the caller has, and takes it. many is whether
// several threads may make calls at once. It is to be called before the first call.
func (l *BiasedLock) Open(many bool) {
	if many || !sys.RegisterOwnBarrier() {
		l.many = 1
	}
	l.shut.Store(1)
}

// Enter takes the lock, with the rank's lock held. Who is inside never is for long, but may have
// lost the processor, to this one perhaps: who only yields may keep it for all that.
func (l *BiasedLock) Enter() {
	l.shut.Store(1)
	if l.mine() {
		return
	}
	l.seen()
	for i := 1; l.inside.Load() != 0; i++ {
		if i%64 == 0 {
			sys.Nap()
		}
	}
}

// TryEnter takes the lock if no call is inside, with the rank's lock held.
func (l *BiasedLock) TryEnter() bool {
	if l.inside.Load() != 0 {
		return false
	}
	l.shut.Store(1)
	if l.mine() {
		return true
	}
	l.seen()
	if l.inside.Load() != 0 {
		l.shut.Store(0)
		return false
	}
	return true
}

// Leave gives the lock back.
func (l *BiasedLock) Leave() { l.shut.Store(0) }

// mine reports whether no other thread makes calls: then none is inside. The first one that does sees that
// the lock is shut.
func (l *BiasedLock) mine() bool {
	caller := l.caller.Load()
	return caller == mem.Thread() || caller == 0 && l.many == 0
}

// seen makes sure that every call which has not seen that the lock is shut is seen to be inside.
func (l *BiasedLock) seen() {
	if l.many == 0 {
		sys.OwnBarrier()
	}
}

package progress

import (
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Leave is called with the lock held at the end of every call that may have
// changed what is pending. If there is something to do that no arrival
// announces, it wakes the background, once: when that cannot go on either, it
// waits for a peer to make room and ring. A window of sends into a full ring
// would cost a system call each otherwise.
func (e *Engine) Leave() {
	needs := e.proto.Needs()
	if needs == 0 && e.UnderWay == 0 {
		return
	}
	if needs&variants.NeedsWake != 0 {
		e.proto.Wake(variants.NeedsWake, e.wake)
	}
	if e.leader {
		if needs&variants.NeedsProgress != 0 || e.Ready.Len() > 0 {
			e.fab.WakeForeground()
		}
		return
	}
	if needs&variants.NeedsArrivals == 0 && e.UnderWay == 0 || e.still {
		return
	}
	e.calls.Add(1)
	if e.hesitating.Load() {
		e.poll() // in place of the background, which has been rung, and will look again
		return
	}
	if !e.armed {
		e.armed = true
		mark := e.fab.MarkBackground()
		for e.fab.ArmBackground() && e.poll() && e.fab.MarkBackground() == mark {
		}
	}
	if e.Ready.Len() > 0 || e.proto.Needs()&variants.NeedsProgressNow != 0 && !e.stuck {
		e.stuck = true // the background will see to it
		e.fab.WakeBackground(e.fab.Rank())
	}
}

// pending reports whether arrivals need this rank's attention although nobody
// waits: the protocol's or a schedule's next step.
func (e *Engine) pending() bool {
	return e.proto.Needs()&variants.NeedsArrivals != 0 || e.UnderWay > 0
}

// Began says that a send was posted of which a part has been written: the rest goes on
// without anybody's making room.
func (e *Engine) Began() { e.stuck = false }

// Nudge makes all who wait look again, after a request has been completed by
// somebody else than the leader.
func (e *Engine) Nudge() {
	if e.leader {
		e.fab.WakeForeground()
		e.cond.Broadcast()
	}
}

// Quiet reports whether nobody polls, nor is to be rung at the next arrival: then a call
// may take a message out of the fabric by itself.
func (e *Engine) Quiet() bool { return !e.leader && !e.armed }

// Listens reports whether an arrival is to ring. It takes the background doorbell down if there is
// nothing to ring for any more. A background that hesitates has been rung.
func (e *Engine) Listens() bool {
	if e.armed && !e.pending() && !e.hesitating.Load() {
		e.fab.DisarmBackground()
		e.armed = false
	}
	return e.leader || e.armed && !e.hesitating.Load()
}

// background makes progress while nobody waits: it sleeps until an arrival
// rings, which senders do only while the doorbell is armed, or until its own rank
// or an urgent message wakes it.
func (e *Engine) background(mark uint32) {
	calls := e.calls.Load()
	for {
		e.fab.WaitBackground(mark)
		if !e.AllShare() {
			e.lock.Lock()
		} else {
			calls = e.hesitate(calls)
			e.lock.lockBehind()
		}
		mark = e.fab.MarkBackground()
		e.armed = false
		for !e.closed && !e.leader {
			if e.poll() {
				e.lock.Unlock()
				runtime.Gosched()
				if !e.AllShare() {
					e.lock.Lock()
				} else {
					e.lock.lockBehind()
				}
				continue
			}
			if !e.pending() || e.armed {
				break
			}
			if e.stuck = e.proto.Needs()&variants.NeedsProgressNow != 0; e.stuck {
				e.proto.Wake(variants.NeedsProgress, e.wake)
			}
			e.armed = true
			if !e.fab.ArmBackground() {
				break
			}
		}
		e.called = e.leader
		closed := e.closed
		e.lock.Unlock()
		if closed {
			return
		}
	}
}

// hesitation is how long the background leaves a rank alone at first that makes calls,
// which is about to wait in one perhaps: it would copy with the rank's lock in its hands,
// on a core that others need. The calls make progress meanwhile.
const (
	hesitation     = 20 * time.Microsecond
	mostHesitation = 160 * time.Microsecond
)

// hesitate waits a moment if the rank has made calls since there were so many, and longer
// and longer while it makes others or is in one, and returns their number.
func (e *Engine) hesitate(since uint32) uint32 {
	for pause := hesitation; ; pause = min(2*pause, mostHesitation) {
		now := e.calls.Load()
		if now == since && !e.lock.held() {
			break
		}
		since = now
		e.hesitating.Store(true)
		time.Sleep(pause)
	}
	e.hesitating.Store(false)
	return since
}

// Close ends the background goroutine.
func (e *Engine) Close() {
	e.lock.Lock()
	e.closed = true
	e.lock.Unlock()
	e.fab.WakeBackground(e.fab.Rank())
	e.join()
}

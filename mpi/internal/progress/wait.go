package progress

import (
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Until waits until done, at the end of a call. done is called with the lock held, as
// Until is.
func (e *Engine) Until(done func() bool) {
	e.wait(done, nil)
	e.Leave()
}

// Words are words of shared memory that end a wait, which whoever stores them must tell
// of. Sleep says that this rank is about to sleep for them and reports whether it may;
// Wake ends that.
type Words struct {
	*mem.Words
	Sleeper interface {
		Sleep() bool
		Wake()
	}
}

// UntilWords is Until for something that words tell, but not the end of a call. The
// leader looks at its own words. Those of followers ring at the leader, who wakes the
// followers.
func (e *Engine) UntilWords(done func() bool, w Words) { e.wait(done, &w) }

func (e *Engine) wait(done func() bool, w *Words) {
	for !done() {
		if e.leader {
			e.follow(w)
			continue
		}
		e.leader = true
		if e.armed {
			e.fab.DisarmBackground()
			e.armed = false
		}
		e.lead(done, w)
		e.leader = false
		for e.called { // perhaps for a message that has come since the last poll
			e.called = e.poll()
		}
		e.stuck = false // a ring that told of room may have been for us alone
		if e.followers > 0 {
			e.cond.Broadcast()
		}
	}
}

// follow waits until the leader has seen something happen, or steps back.
func (e *Engine) follow(w *Words) {
	e.Leave() // the leader may sleep
	e.followers++
	defer func() { e.followers-- }()
	if w == nil {
		e.cond.Wait()
		return
	}
	e.watchers++
	may := w.Sleeper.Sleep()
	e.Shared.Settle()
	if may && !w.There() {
		e.cond.Wait()
	}
	w.Sleeper.Wake()
	e.watchers--
}

// lead polls until done. Between two polls that find nothing it looks for a moment with
// the lock held, then polls what is outside, or else spins, reminds the peers that it waits for, and
// sleeps.
func (e *Engine) lead(done func() bool, w *Words) {
	if w != nil {
		e.Shared.Watch(*w.Words)
		defer e.Shared.Unwatch()
	}
	var visits visits
	for {
		mark := e.fab.Mark()
		if e.watchers > 0 {
			e.cond.Broadcast()
		}
		moved := e.pollUntil(done)
		if done() {
			return
		}
		if moved || e.Poller != nil && e.Poller.Poll(mark) {
			if e.followers > 0 || e.unread() {
				e.lock.Unlock()
				runtime.Gosched()
				e.lock.Lock()
			}
			continue
		}
		doubtful := false
		if e.Outside.wanted() {
			if visits.n++; visits.n%visitsASleep == 1 {
				e.remind()
			}
			e.lock.Unlock()
			e.Outside.Poll()
			e.fab.Yield()
			doubtful = e.doubter != nil && visits.doubtful()
			e.lock.Lock()
		} else {
			e.lock.Unlock()
			worth := e.fab.Spin(mark)
			e.lock.Lock()
			if worth || done() {
				continue
			}
			e.remind()
			e.lock.Unlock()
			doubtful = (w == nil || w.Sleeper.Sleep()) && e.sleep(mark)
			if w != nil {
				w.Sleeper.Wake()
			}
			e.lock.Lock()
		}
		if doubtful {
			e.doubter.Doubt()
			e.hurry()
		}
		if done() {
			return
		}
	}
}

// remind is called before a wait: it wakes the ranks without which the protocol cannot go
// on. They may be computing; their background goroutines make room, or answer.
func (e *Engine) remind() {
	if needs := e.proto.Needs() & (variants.NeedsProgress | variants.NeedsReply); needs != 0 {
		e.proto.Wake(needs, e.wake)
	}
}

// doubter is a protocol that asks its peers about what has waited for long
// (package optimistic).
type doubter interface{ Doubt() }

// Doubts reports whether the protocol may have doubts.
func (e *Engine) Doubts() bool { return e.doubter != nil }

// doubtAfter is how long a call waits before it has doubts. The answer decides,
// not the time: a program that is merely slow is never accused.
const doubtAfter = 200 * time.Millisecond

// sleep waits for the doorbell and reports whether the protocol should have doubts.
func (e *Engine) sleep(mark uint32) (doubtful bool) {
	if e.doubter == nil {
		e.fab.Sleep(mark)
		return false
	}
	stop := e.alarm(doubtAfter)
	e.fab.Sleep(mark)
	return !stop()
}

// alarm rings the doorbell after d, unless it is stopped before, which reports whether it
// was in time.
func (e *Engine) alarm(d time.Duration) (stop func() bool) {
	if e.Virtual != nil {
		return e.Virtual.Alarm(d)
	}
	return time.AfterFunc(d, e.fab.WakeForeground).Stop
}

// Test polls once, if need be, and reports whether done. If not, it lets
// others run: programs repeat such calls in loops.
func (e *Engine) Test(done func() bool) bool {
	if done() {
		return true
	}
	if e.Ended() {
		return false
	}
	e.Poll()
	e.Leave()
	if done() {
		return true
	}
	if e.proto.Needs()&variants.NeedsReply != 0 {
		e.proto.Wake(variants.NeedsReply, e.wake)
	}
	e.yield()
	return false
}

// Relax polls, and lets others run if that brings nothing. It may release the
// lock in between.
func (e *Engine) Relax() {
	if !e.Poll() {
		e.yield()
	}
}

// yield lets others run after a poll that has found nothing.
func (e *Engine) yield() {
	e.lock.Unlock()
	e.fab.Yield()
	e.lock.Lock()
}

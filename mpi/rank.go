package mpi

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/variants"
)

// rank is one MPI process, or one of several in this process: a protocol and a
// fabric under a lock.
//
// Only one goroutine at a time polls the fabric. A call that waits becomes the
// leader unless there is one; it polls with the lock held and spins or sleeps
// without it. The others are followers: they sleep on cond until the leader has
// seen something happen, or steps back.
type rank struct {
	mu      rankLock
	fab     fabric
	offers  // of fab
	proto   protocol
	limit   int     // of eager messages, in bytes
	doubter doubter // the protocol, if it is one
	near    near    // see receiveNow
	level   ThreadLevel

	leader    bool      // somebody waits and polls
	followers int       // others that wait
	boarders  int       // of them, those that wait for words of a board
	cond      sync.Cond // on mu, for followers
	armed     bool      // the background bell is up
	called    bool      // the background was woken while somebody led
	stuck     bool      // what needs progress waits for room at peers that ring; see leave
	closed    bool
	ended     atomic.Bool // Finalize has returned: calls are errors
	deaths    uint32

	outside     outside
	calls       atomic.Uint32 // that have ended with something pending
	hesitating  atomic.Bool   // the background leaves the rank to its calls, see hesitate
	recycling   bool          // what has ended is taken back, see recycle.go
	slab        []Request     // not used yet
	recycled    []*Request    // to be used again
	spare       *pooled
	pairs       *pair
	fixed       *persistent
	found       *Message
	underWay    int             // schedules that have not ended, see schedule.go
	ready       variants.Ready  // those of them that have something to do
	algorithms  *coll.Selection // of collectives, see Comm.algorithms
	sharing     *collective     // calls that wait for something on one
	idle        *collective     // for reuse
	idles       int
	lastPending int      // index at which TestAll has stopped
	watched     watched  // requests that calls for any of several have met
	codes       ownCodes // of errors
	leavings    leavings // sends under way that no call waits for
	scratch     [][]byte // for reductions
	probes      *probe   // calls of Probe that wait
	spareProbes *probe
	stats       *callStats    // nil: not wanted
	idents      commid.Supply // of communicators that this rank leads
	closing     []*Comm       // freed, but requests are pending on them
	selfOnce    sync.Once
	self        *Comm           // see Comm.Self
	wake        func(world int) // rings at a rank's background goroutine
	join        func()          // waits for the end of the background goroutine
}

func newRank(f fabric, o *settings) (*rank, error) {
	proto, err := newProtocol(o, f)
	if err != nil {
		return nil, err
	}
	k := &rank{fab: f, proto: proto, limit: f.Limit(), level: o.level, outside: o.outside, recycling: o.recycling, stats: newCallStats(o.variant, o.passed), algorithms: o.algorithms.On(where(f)), offers: offered(f, o)}
	k.idents = commid.NewSupply(f.Rank(), k.vacant)
	k.leavings.rule = o.buffers
	k.doubter, _ = any(proto).(doubter)
	k.near.open(f, proto)
	k.wake = f.WakeBackground
	k.cond.L = &k.mu
	k.mu.work = proto.Work()
	mark := f.MarkBackground()
	k.join = k.beside(func() { k.background(mark) })
	return k, nil
}

// pollBatch bounds how long a poll keeps the lock.
const pollBatch = 64

// poll hands what has arrived to the protocol and carries on what is under way.
// It reports whether anything happened. The caller holds the lock, and nobody
// else is the leader.
func (k *rank) poll() bool { return k.pollUntil(never) }

func never() bool { return false }

// pollUntil is poll, but stops when a message has made done true.
func (k *rank) pollUntil(done func() bool) (moved bool) {
	for range pollBatch {
		h, payload, ok := k.fab.Next()
		if !ok {
			break
		}
		k.proto.Deliver(h, payload)
		k.fab.Release()
		moved = true
		if done() {
			if k.followers > 0 {
				k.cond.Broadcast()
			}
			return true // the rest can wait for the next poll
		}
	}
	for {
		slot, n, ok := k.fab.Notified()
		if !ok {
			break
		}
		k.proto.Notified(slot, n)
		moved = true
	}
	if k.proto.Needs()&variants.NeedsProgress != 0 && k.proto.Progress() {
		moved = true
	}
	if k.ready.Len() > 0 {
		k.advanceReady()
		moved = true
	}
	if !moved {
		if d := k.fab.Deaths(); d != k.deaths {
			k.bury(d)
			moved = true
		}
	}
	if len(k.closing) > 0 {
		k.reap()
	}
	k.hurry()
	if moved {
		k.stuck = false
		if k.followers > 0 {
			k.cond.Broadcast()
		}
	}
	return moved
}

// hurry wakes the ranks whose answer is urgent.
func (k *rank) hurry() {
	if k.proto.Needs()&variants.NeedsWake != 0 {
		k.proto.Wake(variants.NeedsWake, k.wake)
	}
}

// wakeThoseNeeded is called before a wait: it wakes the ranks without which the
// protocol cannot go on. They may be computing; their background goroutines make room,
// or answer.
func (k *rank) wakeThoseNeeded() {
	if needs := k.proto.Needs() & (variants.NeedsProgress | variants.NeedsReply); needs != 0 {
		k.proto.Wake(needs, k.wake)
	}
}

// bury tells the protocol who has died. All that the dead have sent before has
// been delivered: the last poll found nothing.
func (k *rank) bury(deaths uint32) {
	for i := range k.fab.Size() {
		if i != k.fab.Rank() && k.fab.Dead(i) {
			k.proto.PeerFailed(i)
		}
	}
	k.deaths = deaths
	k.fab.SawDeaths(deaths)
}

// waitUntil waits until done, which is called with the lock held, as the whole
// of waitUntil is.
func (k *rank) waitUntil(done func() bool) {
	k.waitFor(done, nil)
	k.leave()
}

// waitFor is waitUntil for something that words of a board tell, unless w is nil, without
// the end of a call. The leader looks at its own words. Those of followers ring at the leader, who wakes
// the followers.
func (k *rank) waitFor(done func() bool, w *board.Words) {
	for !done() {
		if k.leader {
			k.leave() // the leader may sleep
			k.followers++
			if w == nil {
				k.cond.Wait()
			} else {
				k.boarders++
				may := w.Sleep()
				k.shared.Settle()
				if may && !w.There() {
					k.cond.Wait()
				}
				w.Wake()
				k.boarders--
			}
			k.followers--
			continue
		}
		k.leader = true
		if k.armed {
			k.fab.DisarmBackground()
			k.armed = false
		}
		k.lead(done, w)
		k.leader = false
		for k.called { // perhaps for a message that has come since the last poll
			k.called = k.poll()
		}
		k.stuck = false // a ring that told of room may have been for us alone
		if k.followers > 0 {
			k.cond.Broadcast()
		}
	}
}

func (k *rank) lead(done func() bool, w *board.Words) {
	if w != nil {
		k.shared.Watch(w.Words)
		defer k.shared.Unwatch()
	}
	var outside visits
	for {
		mark := k.fab.Mark()
		if k.boarders > 0 {
			k.cond.Broadcast()
		}
		moved := k.pollUntil(done)
		if done() {
			return
		}
		if moved || k.poller != nil && k.poller.Glance(mark) {
			if k.followers > 0 {
				k.mu.Unlock()
				runtime.Gosched()
				k.mu.Lock()
			}
			continue
		}
		if k.visit(&outside) {
			if done() {
				return
			}
			continue
		}
		k.mu.Unlock()
		worth := k.fab.Spin(mark)
		k.mu.Lock()
		if worth || done() {
			continue
		}
		k.wakeThoseNeeded()
		k.mu.Unlock()
		doubtful := (w == nil || w.Sleep()) && k.sleep(mark)
		if w != nil {
			w.Wake()
		}
		k.mu.Lock()
		if doubtful {
			k.doubter.Doubt()
			k.hurry()
		}
		if done() {
			return
		}
	}
}

// doubter is a protocol that asks its peers about what has waited for long
// (package optimistic).
type doubter interface{ Doubt() }

// doubtAfter is how long a call waits before it has doubts. The answer decides,
// not the time: a program that is merely slow is never accused.
const doubtAfter = 200 * time.Millisecond

// sleep waits for the bell and reports whether the protocol should have doubts.
func (k *rank) sleep(mark uint32) (doubtful bool) {
	if k.doubter == nil {
		k.fab.Sleep(mark)
		return false
	}
	stop := k.alarm(doubtAfter)
	k.fab.Sleep(mark)
	return !stop()
}

// leave is called with the lock held at the end of every call that may have
// changed what is pending. If there is something to do that no arrival
// announces, it wakes the background, once: when that can not go on either, it
// waits for a peer to make room and ring. A window of sends into a full ring
// would cost a system call each otherwise.
func (k *rank) leave() {
	needs := k.proto.Needs()
	if needs == 0 && k.underWay == 0 {
		return
	}
	if needs&variants.NeedsWake != 0 {
		k.proto.Wake(variants.NeedsWake, k.wake)
	}
	if k.leader {
		if needs&variants.NeedsProgress != 0 || k.ready.Len() > 0 {
			k.fab.WakeForeground()
		}
		return
	}
	if needs&variants.NeedsArrivals == 0 && k.underWay == 0 {
		return
	}
	k.calls.Add(1)
	if k.hesitating.Load() {
		k.poll() // in place of the background, which has been rung, and will look again
		return
	}
	if !k.armed {
		k.armed = true
		mark := k.fab.MarkBackground()
		for k.fab.ArmBackground() && k.poll() && k.fab.MarkBackground() == mark {
		}
	}
	if k.ready.Len() > 0 || k.proto.Needs()&variants.NeedsProgressNow != 0 && !k.stuck {
		k.stuck = true // the background will see to it
		k.fab.WakeBackground(k.fab.Rank())
	}
}

// pending reports whether arrivals need this rank's attention although nobody
// waits: the protocol's or a schedule's next step.
func (k *rank) pending() bool {
	return k.proto.Needs()&variants.NeedsArrivals != 0 || k.underWay > 0
}

// nudge makes all who wait look again, after a request has been completed by
// somebody else than the leader.
func (k *rank) nudge() {
	if k.leader {
		k.fab.WakeForeground()
		k.cond.Broadcast()
	}
}

// background makes progress while nobody waits: it sleeps until an arrival
// rings, which senders do only while the bell is armed, or until its own rank
// or an urgent message wakes it.
func (k *rank) background(mark uint32) {
	calls := k.calls.Load()
	for {
		k.fab.WaitBackground(mark)
		calls = k.hesitate(calls)
		k.lockBehind()
		mark = k.fab.MarkBackground()
		k.armed = false
		for !k.closed && !k.leader {
			if k.poll() {
				k.mu.Unlock()
				runtime.Gosched()
				k.lockBehind()
				continue
			}
			if !k.pending() || k.armed {
				break
			}
			if k.stuck = k.proto.Needs()&variants.NeedsProgressNow != 0; k.stuck {
				k.proto.Wake(variants.NeedsProgress, k.wake)
			}
			k.armed = true
			if !k.fab.ArmBackground() {
				break
			}
		}
		k.called = k.leader
		closed := k.closed
		k.mu.Unlock()
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
func (k *rank) hesitate(since uint32) uint32 {
	if k.shared == nil {
		return since
	}
	for pause := hesitation; ; pause = min(2*pause, mostHesitation) {
		now := k.calls.Load()
		if now == since && !k.inCall() {
			break
		}
		since = now
		k.hesitating.Store(true)
		time.Sleep(pause)
	}
	k.hesitating.Store(false)
	return since
}

// lockBehind takes the lock for the background.
func (k *rank) lockBehind() {
	if k.shared != nil {
		k.mu.LockBehind()
	} else {
		k.mu.Lock()
	}
}

// inCall reports whether a call has the rank's lock.
func (k *rank) inCall() bool {
	if !k.mu.TryLock() {
		return true
	}
	k.mu.Mutex.Unlock()
	return false
}

// tryPoll polls if nobody else does.
func (k *rank) tryPoll() {
	if !k.leader {
		k.poll()
	}
}

// close ends the background goroutine.
func (k *rank) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.fab.WakeBackground(k.fab.Rank())
	k.join()
}

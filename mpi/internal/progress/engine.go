// Package progress carries a rank on: it brings what arrives to the protocol, and has
// those wait who must.
//
//	lock.go        the rank's lock
//	engine.go      one poll: what arrives, what is ready, who has died
//	wait.go        calls that wait, of which one polls for all
//	background.go  progress while no call waits
//	outside.go     another library in the process that must be polled as well
//
// Only one goroutine at a time polls the fabric. A call that waits becomes the leader
// unless there is one; it polls with the lock held and spins or sleeps without it. The
// others are followers: they sleep until the leader has seen something happen, or steps
// back. There is no polling thread: while nobody waits, a background goroutine sleeps
// until an arrival wakes it, for which a call that leaves something pending asks.
package progress

import (
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/variants"
)

// Engine is the progress of a rank. Its lock guards it.
type Engine struct {
	lock *Lock
	fab  network.Fabric
	Offers
	proto   variants.Protocol
	doubter doubter // the protocol, if it is one
	owner   Owner

	// Ready are schedules that have something to do now; UnderWay counts those that
	// have not ended.
	Ready    variants.Ready
	UnderWay int
	ended    atomic.Bool // no message comes any more
	deaths   uint32      // that the protocol knows of

	leader     bool          // somebody waits and polls
	followers  int           // others that wait
	watchers   int           // of them, those that wait for words
	cond       sync.Cond     // on lock, for followers
	armed      bool          // the background doorbell is up
	called     bool          // the background was woken while somebody led
	stuck      bool          // what needs progress waits for room at peers that ring; see Leave
	calls      atomic.Uint32 // that have ended with something pending
	hesitating atomic.Bool   // the background leaves the rank to its calls, see hesitate
	closed     bool
	still      bool   // there is no background
	mark       uint32 // of the background doorbell, before Begin
	Outside    Outside
	wake       func(world int) // rings at the background of a rank: made once, for it costs an allocation
	join       func()          // waits for the end of the background goroutine
}

// Owner is the rank whose engine it is. The lock is held when it is called.
type Owner interface {
	Advance(*variants.Batch) // carries on a schedule that was ready
	Polled(moved bool)       // at the end of each poll, which has found something or not
}

// New makes the engine of a rank. It has no background goroutine before Begin.
func New(l *Lock, f network.Fabric, offers Offers, p variants.Protocol, owner Owner, outside Outside) *Engine {
	e := &Engine{lock: l, fab: f, wake: f.WakeBackground, Offers: offers, proto: p, owner: owner, Outside: outside,
		still: true, join: func() {}, mark: f.MarkBackground()}
	e.doubter, _ = p.(doubter)
	e.cond.L = l
	l.Work = p.Work()
	return e
}

// Begin begins the background goroutine, which calls the owner: that must be ready. A ring since New is not lost.
func (e *Engine) Begin() {
	e.lock.Lock()
	e.still = false
	e.lock.Unlock()
	e.join = e.beside(func() { e.background(e.mark) })
}

// beside runs loop beside the rank and returns what waits for its end.
func (e *Engine) beside(loop func()) (join func()) {
	if e.Virtual != nil {
		return e.Virtual.Background(loop)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop()
	}()
	return func() { <-ended }
}

// Offers is what a fabric offers besides what every fabric has; what there is not is nil.
type Offers struct {
	Poller  network.Poller
	Carrier network.Carrier
	Streams network.Streams
	Shared  network.SharedMemory
	Remote  network.RemoteMemory
	Virtual network.VirtualTime
	Hosts   network.Hosts
}

// AllShare reports whether all ranks of the job share memory.
func (o *Offers) AllShare() bool { return o.Shared != nil && o.Hosts == nil }

// OffersOf asks a fabric for all.
func OffersOf(f network.Fabric) (o Offers) {
	o.Poller, _ = f.(network.Poller)
	o.Carrier, _ = f.(network.Carrier)
	o.Streams, _ = f.(network.Streams)
	o.Shared, _ = f.(network.SharedMemory)
	o.Remote, _ = f.(network.RemoteMemory)
	o.Virtual, _ = f.(network.VirtualTime)
	o.Hosts, _ = f.(network.Hosts)
	return o
}

// pollBatch bounds how long a poll keeps the lock.
const pollBatch = 64

// Poll hands what has arrived to the protocol and carries on what is under way, unless a
// leader does. It reports whether anything happened.
func (e *Engine) Poll() bool { return !e.leader && e.poll() }

func (e *Engine) poll() bool { return e.pollUntil(never) }

func never() bool { return false }

// TakeIn hands what has arrived to the protocol, unless a leader does, and carries on nothing: who is about to post a
// request knows then what is there for it, and the copies of others wait until that is posted.
func (e *Engine) TakeIn() {
	if !e.leader && e.takeIn(never) && e.followers > 0 {
		e.cond.Broadcast()
	}
}

// unread reports whether a look has ended before all was taken in, for the sake of others.
func (e *Engine) unread() bool { return e.Streams != nil && e.Streams.Unread() }

// takeIn takes messages until one has made done true.
func (e *Engine) takeIn(done func() bool) (moved bool) {
	for range pollBatch {
		h, payload, ok := e.fab.Next()
		if !ok {
			break
		}
		e.proto.Deliver(h, payload)
		e.fab.Release()
		moved = true
		if done() {
			return true
		}
	}
	return moved || e.unread()
}

// pollUntil is poll, but stops when a message has made done true.
func (e *Engine) pollUntil(done func() bool) (moved bool) {
	moved = e.takeIn(done)
	if moved && done() {
		if e.followers > 0 {
			e.cond.Broadcast()
		}
		return true // the rest can wait for the next poll
	}
	if e.Carrier != nil {
		e.Carrier.Carry()
	}
	for {
		slot, n, ok := e.fab.Notified()
		if !ok {
			break
		}
		e.proto.Notified(slot, n)
		moved = true
	}
	if e.proto.Needs()&variants.NeedsProgress != 0 && e.proto.Progress() {
		moved = true
	}
	if n := e.Ready.Len(); n > 0 {
		for range n { // what these make ready is left to the next poll
			e.owner.Advance(e.Ready.Pop())
		}
		moved = true
	}
	if !moved {
		if d := e.fab.Deaths(); d != e.deaths {
			e.failPeers(d)
			moved = true
		}
	}
	e.owner.Polled(moved)
	e.hurry()
	if moved {
		e.stuck = false
		if e.followers > 0 {
			e.cond.Broadcast()
		}
	}
	return moved
}

// hurry wakes the ranks whose answer is urgent.
func (e *Engine) hurry() {
	if e.proto.Needs()&variants.NeedsWake != 0 {
		e.proto.Wake(variants.NeedsWake, e.wake)
	}
}

// failPeers tells the protocol who has died. All that the dead have sent before has
// been delivered: the last poll found nothing.
func (e *Engine) failPeers(deaths uint32) {
	for i := range e.fab.Size() {
		if i != e.fab.Rank() && e.fab.Dead(i) {
			e.proto.PeerFailed(i)
		}
	}
	e.deaths = deaths
	e.fab.SawDeaths(deaths)
}

// Deaths is how many ranks have died, as far as the protocol knows.
func (e *Engine) Deaths() uint32 { return e.deaths }

// End says that nothing comes any more, and Ended that it was called.
func (e *Engine) End()        { e.ended.Store(true) }
func (e *Engine) Ended() bool { return e.ended.Load() }

package host

import (
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// How a rank waits. It spins or yields first, since a wake-up from sleep costs
// tens of microseconds. Then it raises the flag of its bell, looks at its
// mailbox once more and sleeps on a futex; a sender that finds a flag up after
// publishing rings, and no other sender pays for a system call.
//
// Where ranks share cores, whoever waits stands in the way of the one it waits for
// (affinity.go). Yielding hands the core over in less time than a sleep and a wake-up
// need. If the ranks are scheduled in groups of their own, as each is under a
// launcher that gives it a session, a yield hands the core over as long as the groups have
// had about as much of it. After one has computed, say, the other keeps it until it has had as much:
// its yields have no effect for milliseconds. There a rank sleeps at once if another one
// needs its core, but in collectives, where it tries some yields (package coll/shm).
// Else it spins: to wake a core that idles takes longest of all.
//
// Publishing and looking at the flag are a store followed by a load of another
// word, which both architectures but an ARM64 release-acquire pair may swap. The
// sleeper makes up for that: between raising the flag and its last look it calls
// membarrier, which makes every running sender execute a fence. So a sender
// needs none. Where the kernel refuses membarrier, where ranks must sleep to let each
// other run, and between ranks of one process, senders publish with a fence instead
// (header.fence).
//
// A call of the fast path looks, and yields, by the same numbers, and then waits here.
//
//exanet:c WAIT_
const (
	polls    = 200                    // looks while nobody else can use the lock: about 1 us
	looks    = 50                     // between two yields, with a core for each rank
	spinTime = 30 * time.Microsecond  // before sleeping, with a core for each rank
	longSpin = 200 * time.Microsecond // the same, if the last wait would have ended in it
	wakeUp   = 100 * time.Microsecond // what it may have taken to wake up at its end
	yields   = 400                    // before sleeping, with fewer cores: shared by the ranks of a core
	fewest   = 8                      // of them a rank

	// what a yield takes at least if another one runs meanwhile; with nobody else, some tenths
	handOver  = time.Microsecond
	slowYield = time.Millisecond       // what a yield takes if another program keeps the core for its time slice
	backOff   = 100 * time.Millisecond // for which a rank does not yield then
)

// Poll looks for something to do for about a microsecond, where it does not
// keep the awaited rank from running.
func (f *Fabric) Poll(mark uint32) bool {
	return f.look(mark, f.Looks())
}

// Looks is how often a rank may look for something while it keeps its lock.
func (f *Fabric) Looks() int {
	if f.occupancy != dedicated || f.job.localBells != nil {
		return 0
	}
	return polls
}

// asLong is how many looks at the rings take about as long as one that includes a network, which is a system call.
const asLong = 16

// look looks for as long as so many looks at the rings take.
func (f *Fabric) look(mark uint32, times int) bool {
	if f.beside != nil {
		times = (times + asLong - 1) / asLong
	}
	for range times {
		if f.ready(mark) {
			return true
		}
	}
	return false
}

// Spin waits a short while, without giving up more than the time slice, until
// there may be something to do: a message, a death, a ring of the bell since
// mark. It reports whether there is. The caller must be the only one that polls
// this fabric.
func (f *Fabric) Spin(mark uint32) bool {
	switch {
	case f.job.localBells != nil:
		for range 4 {
			runtime.Gosched()
			if f.ready(mark) {
				return true
			}
		}
		return false
	case f.occupancy == dedicated:
		return f.spin(mark)
	case f.occupancy == yielding:
		return f.yield(mark)
	}
	return f.try(mark)
}

func (f *Fabric) spin(mark uint32) bool {
	var start time.Duration
	tried := false
	for {
		// Even with a core for each rank the awaited one may share ours, for
		// instance when other programs run: spinning alone would keep it
		// waiting.
		now, away := clock(), time.Duration(0)
		if now >= f.backOffUntil {
			sys.Yield()
			before := now
			now = clock()
			if away = now - before; away > slowYield {
				f.backOffUntil = now + backOff
			}
		}
		if f.look(mark, looks) {
			if start == 0 && away > handOver {
				f.migrate() // the awaited one may have run here meanwhile
			}
			return true
		}
		if start == 0 {
			start = now
			continue
		}
		switch waited := clock() - start; {
		case waited > f.spinBudget:
			return false
		case waited > migrateAfter && !tried:
			tried = true
			if f.migrate() {
				start = 0
			}
		}
	}
}

func (f *Fabric) yield(mark uint32) bool {
	f.balance()
	for i := range max(yields*f.cores/f.sharers, fewest) {
		sys.Yield()
		if f.ready(mark) {
			return true
		}
		if i%50 == 49 {
			runtime.Gosched()
		}
	}
	return false
}

// try spins as long as no other rank needs the core: it would have to sleep for that.
func (f *Fabric) try(mark uint32) bool {
	f.balance()
	for start := time.Now(); ; {
		if f.look(mark, looks) {
			return true
		}
		if f.wanted(f.Core()) || time.Since(start) > spinTime {
			return false
		}
	}
}

// Sleep waits like Spin, but as long as it takes and without using the
// processor. It may return early.
func (f *Fabric) Sleep(mark uint32) {
	c := f.self
	start := clock()
	c.flags.Or(bellForeground)
	f.settle()
	if !f.ready(mark) {
		if f.job.localBells == nil {
			sys.FutexWait(&c.foreground, mark)
		} else {
			<-f.job.localBells[f.me].foreground
		}
	}
	c.flags.And(^bellForeground)
	f.spinBudget = spinBudgetAfter(f.spinBudget + clock() - start)
}

// spinBudgetAfter is how long to spin next, after a wait of this length, which waking up is part of.
func spinBudgetAfter(waited time.Duration) time.Duration {
	if waited > longSpin+wakeUp {
		return spinTime
	}
	return longSpin
}

// settle orders the flag that this rank has just raised before its next look
// at the rings, against senders that publish without a fence.
func (f *Fabric) settle() {
	if !f.fenced {
		sys.Barrier()
	}
	if f.listen != nil {
		f.listen()
	}
}

// ready reports whether a poll may find something. Only the poller may call it.
func (f *Fabric) ready(mark uint32) bool {
	if f.watchedHave() || f.self.foreground.Load() != mark || f.job.head.deaths.Load() != f.deathsSeen ||
		f.self.opened.Load() != f.openedSeen || f.borrowings.Load() != f.borrowSeen {
		return true
	}
	for i := range f.in {
		if _, _, ok := f.in[i].peek(&f.job.geo); ok {
			return true
		}
	}
	if f.beside != nil && f.beside() {
		return true
	}
	// The agent works when this rank polls, and so does a reader of shared copies.
	return len(f.fetches) > 0 || len(f.shares) > 0 && f.readable()
}

// ArmBackground raises the flag of the background bell and reports whether
// something has arrived meanwhile, which no sender will ring for. Only the
// poller may call it. A flag that is still up need not be ordered again.
func (f *Fabric) ArmBackground() (arrived bool) {
	if !f.BackgroundArmed() {
		f.self.flags.Or(bellBackground)
		f.settle()
	} else if f.listen != nil {
		f.listen()
	}
	return f.ready(f.self.foreground.Load())
}

// born is where clock counts from.
var born = time.Now()

// clock is the time since some moment in the past, the same for all ranks of a process.
func clock() time.Duration { return time.Since(born) }

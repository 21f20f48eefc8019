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
// Publishing and looking at the flag are a store followed by a load of another
// word, which both architectures but an ARM64 release-acquire pair may swap. The
// sleeper makes up for that: between raising the flag and its last look it calls
// membarrier, which makes every running sender execute a fence. So a sender
// needs none. Where the kernel refuses membarrier, and between ranks of one
// process, senders publish with a fence instead (header.fence).
//
// A rank has two bells. The foreground bell wakes the caller that waits inside
// an MPI call. The background bell wakes the goroutine that makes progress while
// the application computes; it is up only while there is something to do.
//
// A bell also has a counter that every ring counts up. Whoever wants to sleep
// takes a mark of it before it last looks for work; a ring in between changes
// the counter and the sleeper does not sleep.
type bells struct {
	foreground, background chan struct{} // of ranks in this process
}

func newBells() bells {
	return bells{make(chan struct{}, 1), make(chan struct{}, 1)}
}

const (
	spinTime    = 30 * time.Microsecond
	yields      = 200 // sched_yield costs about 0.3 us when nobody else is runnable
	spinsBefore = 64  // polls between looks at the clock
)

// wake counts up the bell of a rank and wakes who sleeps on it.
func (j *Job) wake(rank int, bell uint32) {
	c := j.control(rank)
	c.flags.And(^bell)
	w := &c.foreground
	if bell == bellBackground {
		w = &c.background
	}
	w.Add(1)
	if j.localBells == nil {
		sys.FutexWake(w, 1)
		return
	}
	ch := j.localBells[rank].foreground
	if bell == bellBackground {
		ch = j.localBells[rank].background
	}
	select {
	case ch <- struct{}{}:
	default:
	}
}

// ring wakes a rank whose flags were found up: the waiting call if there is
// one, else the background goroutine.
func (j *Job) ring(rank int, flags uint32) {
	if flags&bellForeground != 0 {
		j.wake(rank, bellForeground)
	} else {
		j.wake(rank, bellBackground)
	}
}

// Mark returns the state of the foreground bell. Take it before the last look
// for work that precedes Spin and Sleep.
func (f *Fabric) Mark() uint32 { return f.self.foreground.Load() }

// Spin waits a short while, without giving up more than the time slice, until
// there may be something to do: a message, a death, a ring of the bell since
// mark. It reports whether there is. The caller must be the only one that polls
// this fabric.
func (f *Fabric) Spin(mark uint32) bool {
	if f.job.localBells != nil {
		for range 4 {
			runtime.Gosched()
			if f.ready(mark) {
				return true
			}
		}
		return false
	}
	if f.crowded {
		for i := range yields {
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
	var start time.Time
	for i := 1; ; i++ {
		if f.ready(mark) {
			return true
		}
		if i%spinsBefore == 0 {
			if start.IsZero() {
				start = time.Now()
			} else if time.Since(start) > spinTime {
				return false
			}
		}
	}
}

// Sleep waits like Spin, but as long as it takes and without using the
// processor. It may return early.
func (f *Fabric) Sleep(mark uint32) {
	c := f.self
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
}

// settle orders the flag that this rank has just raised before its next look
// at the rings, against senders that publish without a fence.
func (f *Fabric) settle() {
	if !f.fenced {
		sys.Barrier()
	}
}

// ready reports whether a poll may find something. Only the poller may call it.
func (f *Fabric) ready(mark uint32) bool {
	if f.self.foreground.Load() != mark || f.job.head.deaths.Load() != f.deathsSeen || f.self.opened.Load() != f.openedSeen {
		return true
	}
	for i := range f.in {
		if _, _, ok := f.in[i].peek(&f.job.geo); ok {
			return true
		}
	}
	return false
}

// WakeForeground makes the current or next Spin or Sleep of this rank return.
func (f *Fabric) WakeForeground() { f.job.wake(f.me, bellForeground) }

// ArmBackground raises the flag of the background bell and reports whether
// something has arrived meanwhile, which no sender will ring for. Only the
// poller may call it.
func (f *Fabric) ArmBackground() (arrived bool) {
	f.self.flags.Or(bellBackground)
	f.settle()
	return f.ready(f.self.foreground.Load())
}

// DisarmBackground takes the flag of the background bell down.
func (f *Fabric) DisarmBackground() { f.self.flags.And(^bellBackground) }

// MarkBackground is Mark for the background bell.
func (f *Fabric) MarkBackground() uint32 { return f.self.background.Load() }

// WaitBackground sleeps until the background bell has been rung since mark.
func (f *Fabric) WaitBackground(mark uint32) {
	for f.self.background.Load() == mark {
		if f.job.localBells == nil {
			sys.FutexWait(&f.self.background, mark)
		} else {
			<-f.job.localBells[f.me].background
		}
	}
}

// WakeBackground ends the current or next WaitBackground of a rank, whether or
// not its flag is up: for messages that must be answered even by a rank that
// has nothing to do itself.
func (f *Fabric) WakeBackground(rank int) { f.job.wake(rank, bellBackground) }

// Yield lets others run, where those are likely to include the rank that the
// caller waits for.
func (f *Fabric) Yield() {
	if f.job.localBells != nil {
		runtime.Gosched()
	} else if f.crowded {
		sys.Yield()
	}
}

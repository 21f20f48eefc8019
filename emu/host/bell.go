package host

import (
	"math"
	"runtime"

	"github.com/exanet-mpi/exanet/internal/sys"
)

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
		sys.FutexWake(w, math.MaxInt32) // a call that waits in C sleeps there as well
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

// nudge counts up both bells of a rank, and wakes it where it sleeps with its flag
// up: whoever waits for something that no message tells of has its flag up, or
// looks at the counter before it sleeps.
func (j *Job) nudge(rank int) {
	c := j.control(rank)
	c.foreground.Add(1)
	c.background.Add(1)
	for _, bell := range []uint32{bellForeground, bellBackground} {
		if c.flags.Load()&bell != 0 {
			j.wake(rank, bell)
		}
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
func (m *Member) Mark() uint32 { return m.self.foreground.Load() }

// WakeForeground makes the current or next Spin or Sleep of this rank return.
func (m *Member) WakeForeground() { m.job.wake(m.me, bellForeground) }

// DisarmBackground takes the flag of the background bell down.
func (m *Member) DisarmBackground() { m.self.flags.And(^bellBackground) }

// BackgroundArmed reports whether that flag is up.
func (m *Member) BackgroundArmed() bool { return m.self.flags.Load()&bellBackground != 0 }

// MarkBackground is Mark for the background bell.
func (m *Member) MarkBackground() uint32 { return m.self.background.Load() }

// WaitBackground sleeps until the background bell has been rung since mark.
func (m *Member) WaitBackground(mark uint32) {
	for m.self.background.Load() == mark {
		if m.job.localBells == nil {
			sys.FutexPark(&m.self.background, mark)
		} else {
			<-m.job.localBells[m.me].background
		}
	}
}

// WakeBackground ends the current or next WaitBackground of a rank, whether or
// not its flag is up: for messages that must be answered even by a rank that
// has nothing to do itself.
func (m *Member) WakeBackground(rank int) { m.job.wake(rank, bellBackground) }

// Yield lets others run, where those are likely to include the rank that the
// caller waits for.
func (m *Member) Yield() {
	if m.job.localBells != nil {
		runtime.Gosched()
	} else if m.occupancy != dedicated {
		sys.Yield()
	}
}

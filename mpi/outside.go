package mpi

import (
	"errors"
	"sync/atomic"
	"time"
)

// outside is something beside this package that makes progress only when it is
// called: another MPI in the same process. While busy is not 0, a call that waits
// does not sleep, but calls poll again and again, in its own goroutine and without
// the rank's lock. The background goroutine never does.
type outside struct {
	busy *atomic.Int64
	poll func()
}

// WithOutside lets the calls that wait also call poll, as long as busy is not 0.
// Who changes busy from 0 calls Wake.
func WithOutside(busy *atomic.Int64, poll func()) Option {
	return func(s *settings) error {
		if busy == nil || poll == nil {
			return errors.New("WithOutside needs a count and a function")
		}
		s.outside = outside{busy, poll}
		return nil
	}
}

// Wake makes the calls that sleep look at the count of WithOutside again.
func (c *Comm) Wake() {
	if c == nil || c.rank == nil {
		return
	}
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nudge()
}

// visits are those of a leader outside, in one wait.
type visits struct {
	n     int
	since time.Time // when the protocol last had doubts, or could have had
}

// visit polls outside instead of sleeping, if there is reason to, and reports
// whether it has. The caller is the leader; the lock is released meanwhile.
func (k *rank) visit(v *visits) bool {
	if k.outside.busy == nil || k.outside.busy.Load() == 0 {
		return false
	}
	if v.n%256 == 0 { // as before a sleep
		k.wakeThoseNeeded()
	}
	v.n++
	k.mu.Unlock()
	k.outside.poll()
	k.fab.Yield()
	doubtful := false
	if k.doubter != nil {
		if now := time.Now(); v.since.IsZero() {
			v.since = now
		} else if now.Sub(v.since) > doubtAfter {
			v.since, doubtful = now, true
		}
	}
	k.mu.Lock()
	if doubtful {
		k.doubter.Doubt()
		k.hurry()
	}
	return true
}

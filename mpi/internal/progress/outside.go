package progress

import (
	"sync/atomic"
	"time"
)

// Outside is something beside the rank that makes progress only when it is polled:
// another MPI in the same process. While Busy is not 0, a call that waits does not sleep,
// but polls again and again, in its own goroutine and without the rank's lock. The
// background goroutine never does. Who changes Busy from 0 calls Nudge.
type Outside struct {
	Busy *atomic.Int64 // nil: there is nothing
	Poll func()
}

func (o *Outside) wanted() bool { return o.Busy != nil && o.Busy.Load() != 0 }

// visitsASleep is how many polls outside take the place of a sleep: peers are
// reminded as often.
const visitsASleep = 256

// visits are those of a leader outside, in one wait.
type visits struct {
	n     int
	since time.Time // when the protocol last had doubts, or could have had
}

// doubtful reports whether the wait has taken as long as the protocol needs for doubts.
func (v *visits) doubtful() bool {
	now := time.Now()
	if v.since.IsZero() {
		v.since = now
	}
	if now.Sub(v.since) <= doubtAfter {
		return false
	}
	v.since = now
	return true
}

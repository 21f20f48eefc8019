package regs

import (
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Waiting of a block's goroutine: registers in memory cannot wake it, so it
// polls, and less and less often while nothing happens. Each sleep is a 16th
// longer than the one before, so what ends an idle time of t is seen within
// about t/16.
const (
	spinRounds  = 64
	yieldRounds = 1024
	firstSleep  = 20 * time.Microsecond
	lastSleep   = 10 * time.Millisecond
)

type pace struct {
	rounds int
	sleep  time.Duration
}

// wait is called after a pass over the registers.
func (p *pace) wait(worked bool) {
	switch p.rounds++; {
	case worked:
		*p = pace{}
	case p.rounds < spinRounds:
		runtime.Gosched()
	case p.rounds < yieldRounds:
		runtime.Gosched()
		sys.Yield()
	default:
		p.sleep = min(max(p.sleep+p.sleep/16, firstSleep), lastSleep)
		time.Sleep(p.sleep)
	}
}

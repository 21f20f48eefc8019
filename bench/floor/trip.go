package floor

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Trip returns the time in nanoseconds that a cache line takes from one thread of this process to another, on whatever
// cores the system has put them, as CacheLine does between two processes. It takes a few milliseconds: it is a look at
// where the processors of a virtual machine are, which its host moves.
func Trip() (float64, error) {
	if runtime.NumCPU() < 2 {
		return 0, ErrOneCore
	}
	const batches, trips = 5, 2000
	var words [3 * 128]uint64 // each side's alone in its lines
	ping, pong := &words[128], &words[256]
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		for i := uint64(1); ; i++ {
			v := atomic.LoadUint64(ping)
			for v == i-1 {
				v = atomic.LoadUint64(ping)
			}
			if v == stop {
				return
			}
			mem.Publish(pong, i)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { mem.Publish(ping, stop); <-ended }()
	least := time.Duration(0)
	i := uint64(0)
	for batch := range batches {
		begun := time.Now()
		for range trips {
			i++
			mem.Publish(ping, i)
			for looks := 1; atomic.LoadUint64(pong) != i; looks++ {
				if looks%(1<<16) == 0 && time.Since(begun) > time.Second {
					return 0, errors.New("the other thread gets no core")
				}
			}
		}
		if took := time.Since(begun); batch == 0 || took < least {
			least = took
		}
	}
	return float64(least.Nanoseconds()) / (2 * trips), nil
}

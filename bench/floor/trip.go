package floor

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Trip returns the time in nanoseconds that a cache line takes from one thread of this process to another, on whatever
// cores the system has put them, as CacheLine does between two processes. It takes a few milliseconds: it is a look at
// where the processors of a virtual machine are, which its host moves.
func Trip() (float64, error) {
	if runtime.NumCPU() < 2 {
		return 0, ErrOneCore
	}
	const (
		batches, trips = 20, 500
		looks          = 1 << 16 // before a side lets other programs have its core
		enough         = 2 * time.Second
	)
	var words [3 * 128]uint64 // each side's alone in its lines
	ping, pong := &words[128], &words[256]
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		for i := uint64(1); ; i++ {
			v := atomic.LoadUint64(ping)
			for n := 1; v == i-1; n++ {
				if n%looks == 0 {
					sys.Yield()
				}
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
	first := time.Now()
	for batch := 0; batch < batches && (batch == 0 || time.Since(first) < enough); batch++ {
		begun := time.Now()
		for range trips {
			i++
			mem.Publish(ping, i)
			for n := 1; atomic.LoadUint64(pong) != i; n++ {
				if n%looks > 0 {
					continue
				}
				if time.Since(begun) > timeout {
					return 0, errors.New("the other thread gets no core")
				}
				sys.Yield()
			}
		}
		if took := time.Since(begun); batch == 0 || took < least {
			least = took
		}
	}
	return float64(least.Nanoseconds()) / (2 * trips), nil
}

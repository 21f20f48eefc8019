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
	return trip(nil)
}

// TripBetween is Trip between two cores, from 0, even if this process is kept on others.
func TripBetween(a, b int) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	return trip([]int{a, b})
}

// trip measures between two cores, or, if these are nil, between any.
func trip(cores []int) (ns float64, err error) {
	var words [3 * 128]uint64 // each side's alone in its lines
	ping, pong := &words[128], &words[256]
	side := func(i int, run func()) (ended chan struct{}, err error) {
		ended, placed := make(chan struct{}), make(chan error)
		go func() {
			defer close(ended)
			runtime.LockOSThread() // the thread ends with it: no other goroutine is to be kept on that core
			var err error
			if cores != nil {
				err = sys.SetAffinity(cores[i : i+1])
			}
			if placed <- err; err == nil {
				run()
			}
		}()
		return ended, <-placed
	}
	answers, err := side(0, func() { answerTrips(ping, pong) })
	if err != nil {
		return 0, err
	}
	counts, failed := side(1, func() { ns, err = countTrips(ping, pong) })
	<-counts
	mem.Publish(ping, stop)
	<-answers
	return ns, errors.Join(failed, err)
}

const tripLooks = 1 << 16 // before a side lets other programs have its core

// answerTrips sends back each number that comes, until stop.
func answerTrips(ping, pong *uint64) {
	for i := uint64(1); ; i++ {
		v := atomic.LoadUint64(ping)
		for n := 1; v == i-1; n++ {
			if n%tripLooks == 0 {
				sys.Yield()
			}
			v = atomic.LoadUint64(ping)
		}
		if v == stop {
			return
		}
		mem.Publish(pong, i)
	}
}

// countTrips sends numbers and waits for each to come back. It returns what a trip has taken in the best batch.
func countTrips(ping, pong *uint64) (ns float64, err error) {
	const (
		batches, trips = 20, 500
		enough         = 2 * time.Second
	)
	least := time.Duration(0)
	i := uint64(0)
	first := time.Now()
	for batch := 0; batch < batches && (batch == 0 || time.Since(first) < enough); batch++ {
		begun := time.Now()
		for range trips {
			i++
			mem.Publish(ping, i)
			for n := 1; atomic.LoadUint64(pong) != i; n++ {
				if n%tripLooks > 0 {
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

package explore

import (
	"iter"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/exanet-mpi/exanet/check/world"
)

// garbage is how much memory may be allocated between two collections, in
// percent of what is in use.
const garbage = 1000

// Run explores families of programs on all processors until one fails. It tells each
// family's Stats to progress, if that is not nil, from one goroutine at a time.
// Exact tells states apart by their Fingerprint alone.
func Run(cfg world.Config, programs iter.Seq[Family], exact bool, progress func(Stats)) (Stats, *Failure) {
	const batch = 8 // families handed out at once
	var (
		mu     sync.Mutex
		total  Stats
		failed *Failure
		wg     sync.WaitGroup
	)
	// Worlds are small and short-lived: without this the collector would run
	// all the time.
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	work := make(chan []Family)
	quit := make(chan struct{})
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			e := &explorer{cfg: cfg, exact: exact}
			for list := range work {
				for _, p := range list {
					e.stats = Stats{}
					f := e.explore(p)
					mu.Lock()
					total.add(e.stats)
					if f != nil && failed == nil {
						failed = f
						close(quit)
					}
					if progress != nil {
						progress(e.stats)
					}
					done := failed != nil
					mu.Unlock()
					if done {
						break
					}
				}
			}
		})
	}
	feed(programs, batch, work, quit)
	wg.Wait()
	return total, failed
}

// feed hands out programs until there are none or one has failed.
func feed(programs iter.Seq[Family], batch int, work chan<- []Family, quit <-chan struct{}) {
	defer close(work)
	var list []Family
	for p := range programs {
		list = append(list, p)
		if len(list) < batch {
			continue
		}
		select {
		case work <- list:
			list = nil
		case <-quit:
			return
		}
	}
	select {
	case work <- list:
	case <-quit:
	}
}

package host

import (
	"math/bits"
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Ranks that have a core each may find themselves on one all the same: new processes
// often begin where their launcher runs. What waits there keeps the awaited rank from
// running, and under a launcher that gives each rank a session it can not even hand over
// the core (see wait.go). The kernel takes tens of milliseconds to part them, since it
// sees each sleep now and then, and where yields hand the core over, and waits end by them, it may never do so. So a
// rank that has waited for long, or has got what it waits for by a yield, looks where the others
// are, and moves to a core where none is. The processors that it may run on stay the same.

const (
	migrateAfter = spinTime / 3           // of waiting
	migratePause = 500 * time.Microsecond // for each rank of the job, between two looks, which take microseconds
	balancePause = time.Millisecond       // between two looks of balance
)

// migrate reports whether this rank has moved away from another that needs its core. Only
// the poller may call it.
func (f *Fabric) migrate() bool {
	if now := time.Now(); now.Sub(f.lookedAt) >= migratePause*time.Duration(f.job.ranks) {
		f.lookedAt = now
	} else {
		return false
	}
	f.self.thread.Store(uint32(sys.Thread()))
	core, shared := sys.Core(), false
	free := f.self.affinity().cpus
	if free.remove(core); free.count() == 0 {
		return false
	}
	for i := range f.job.ranks {
		thread := f.job.control(i).thread.Load()
		if i == f.me || thread == 0 {
			continue
		}
		on, ready := sys.RunsOn(int(thread))
		shared = shared || ready && on == core
		free.remove(on)
	}
	if !shared || free.count() == 0 {
		return false
	}
	return sys.MoveTo(free.first()) == nil
}

// balance moves this rank to a core that has fewer ranks by two, where ranks share cores. Who
// waits is busy, so the kernel leaves three ranks on one core and the fourth on the other; but
// what all have a part in takes as long as three then. Only the last of the ranks of a core
// goes. Only the poller may call it.
func (f *Fabric) balance() {
	if now := time.Now(); now.Sub(f.lookedAt) >= balancePause {
		f.lookedAt = now
	} else {
		return
	}
	core := sys.Core()
	f.self.core.Store(core)
	on := make(map[uint32]int, f.cores+1)
	for i := range f.job.ranks {
		c := f.job.control(i).core.Load()
		if on[c]++; c == core && i > f.me {
			return
		}
	}
	best, cores := core, f.self.affinity().cpus
	for ; cores.count() > 0; cores.remove(cores.first()) {
		if c := cores.first(); on[c] < on[best] {
			best = c
		}
	}
	if on[core]-on[best] >= 2 && sys.MoveTo(best) == nil {
		f.self.core.Store(best)
	}
}

// remove takes a core, as sys.Core numbers them, out of a set, and first is the first
// there.
func (s *cpuSet) remove(core uint32) {
	if 1 <= core && core <= cpuWords*64 {
		s[(core-1)/64] &^= 1 << ((core - 1) % 64)
	}
}

func (s *cpuSet) first() uint32 {
	for i, w := range s {
		if w != 0 {
			return uint32(i*64+bits.TrailingZeros64(w)) + 1
		}
	}
	return 0
}

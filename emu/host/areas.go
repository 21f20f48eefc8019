package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Areas are memory of the segment that all ranks share and that the fabric itself
// has no use for: communicators keep what their collectives need there. Each rank
// has a few to give to the communicators that it leads, and counters for all of those. Like a
// ring, what nobody uses costs no memory.
const (
	areaFixed    = 8 << 10   // for words that belong to no rank
	areaRank     = 1 << 10   // for words of a rank
	areaShared   = 256 << 10 // for data of a rank
	areaOfMany   = 128 << 10 // in jobs of more ranks than so many, for the sake of address space
	many         = 64
	areasMost    = 16   // a rank
	areasAltoget = 4096 // all ranks together, but at least one each
	counters     = 1 << 15
	counterSize  = 4
)

// areaSizes returns the size of an area in a job of n ranks, and how many there
// are for a rank.
func areaSizes(n int) (size, each int) {
	data := areaShared
	if n > many {
		data = areaOfMany
	}
	return (areaFixed + n*(areaRank+data) + pageSize - 1) &^ (pageSize - 1), max(1, min(areasMost, areasAltoget/n))
}

// Areas is how many areas a rank has.
func (m *Member) Areas() int { return m.job.areas }

// Area returns area i of a rank: the same memory at all ranks, zero at first.
func (m *Member) Area(rank, i int) []byte {
	j := m.job
	i += rank * j.areas
	if j.localAreas == nil {
		at := j.area0 + i*j.areaSize
		return j.mapped[at : at+j.areaSize : at+j.areaSize]
	}
	p := j.localAreas[i].Load()
	if p == nil {
		b := make([]uint64, j.areaSize/8)
		if p = &b; !j.localAreas[i].CompareAndSwap(nil, p) {
			p = j.localAreas[i].Load()
		}
	}
	return mem.Bytes(*p)
}

// Counter returns counter i of a rank: the same word at all ranks, zero at first.
func (m *Member) Counter(rank, i int) *atomic.Uint32 {
	j := m.job
	if j.localCounters != nil {
		return &j.localCounters[rank]()[i]
	}
	at := j.area0 + j.ranks*j.areas*j.areaSize + (rank*counters+i)*counterSize
	return (*atomic.Uint32)(unsafe.Pointer(&j.mapped[at]))
}

// Fenced reports whether who stores a word that others sleep for must do so with a
// full fence. It may be called once all ranks have joined.
func (m *Member) Fenced() bool { return m.job.head.fence.Load() != 0 }

// Watch makes Poll, Spin and Sleep of this rank also return when words have come,
// until Unwatch. Only the poller may call it. A word that is stored while the poller
// sleeps does not wake it: who stores it calls Notify.
func (m *Member) Watch(w mem.Words) { m.watched, m.watching = w, true }

// Unwatch is the end of Watch.
func (m *Member) Unwatch() { m.watching = false }

// watchedHave reports whether the words of Watch have come.
func (m *Member) watchedHave() bool { return m.watching && m.watched.There() }

// Settle orders what the caller has stored before what it loads next, against ranks
// that store without a fence and look for sleepers then.
func (m *Member) Settle() {
	if !m.Fenced() {
		sys.Barrier()
	}
}

// Notify makes the current or next Spin or Sleep of a rank return.
func (m *Member) Notify(rank int) { m.job.wake(rank, bellForeground) }

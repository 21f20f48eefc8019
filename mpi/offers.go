package mpi

import (
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/work"
)

// offers is what a fabric may offer besides what every fabric has. A rank asks once;
// what there is not stays nil.
type offers struct {
	poller  poller
	shared  sharedMemory
	remote  remoteMemory
	virtual virtualTime
}

// poller looks whether there is anything to do for a time so short that the rank's lock
// is kept.
type poller interface{ Glance(mark uint32) bool }

// sharedMemory is that of a host, for collectives.
type sharedMemory interface {
	// Area is memory that all ranks share, of which each rank has so many.
	Areas() int
	Area(rank, i int) []byte

	// Watch makes waits also end for words of an area, until Unwatch. Look looks at
	// some for a while without the rank's lock. Settle is the fence that precedes the
	// last look before a sleep, and Rouse wakes who sleeps. Fenced: whoever stores a
	// word does so with a full fence.
	Watch(w mem.Words)
	Unwatch()
	Look(w *mem.Words) bool
	Settle()
	Rouse(rank int)
	Fenced() bool

	// Crowded reports whether any ranks share cores, and Yielding whether those hand
	// their core over by a yield. PerCore is how many ranks a core has, Core where this one
	// runs if that matters, and Berths where the ranks' doorbells are.
	Crowded() bool
	Yielding() bool
	PerCore() int
	Core() uint32
	Berths() (first uint64, step uint32)
}

// remoteMemory is that of other ranks, which this one reads.
type remoteMemory interface {
	// Reaches reports whether it makes sense to Read a rank's memory, which may be done
	// without the rank's lock and reports whether all has been read. Dear: that takes much
	// longer than to copy as much within the caches.
	Reaches(rank int) bool
	Read(rank int, addr uint64, to []byte) bool
	Dear() bool
}

// virtualTime is a fabric in which time passes as a simulation has it, and that therefore
// runs what belongs to a rank itself.
type virtualTime interface {
	// Now is the rank's clock, and Compute keeps its processor busy for a time. Alarm
	// rings the doorbell after d, unless it is stopped before, which reports whether it
	// was in time.
	Now() time.Duration
	Compute(d time.Duration)
	Alarm(d time.Duration) (stop func() bool)

	// Background runs loop, whose first call is WaitBackground, beside the rank, and
	// returns what waits for its end.
	Background(loop func()) (join func())

	// Meter tells where the layers above count what the rank's processor does.
	Meter(done *work.Count)
}

// offered asks a fabric for all. The other devices are as the prototype is: its ranks share
// no memory.
func offered(f fabric, o *settings) (x offers) {
	x.poller, _ = any(f).(poller)
	x.remote, _ = any(f).(remoteMemory)
	x.virtual, _ = any(f).(virtualTime)
	if o.device == deviceHost {
		x.shared, _ = any(f).(sharedMemory)
	}
	return x
}

// alarm rings the doorbell after d, unless it is stopped before, which reports whether it
// was in time.
func (k *rank) alarm(d time.Duration) (stop func() bool) {
	if k.virtual != nil {
		return k.virtual.Alarm(d)
	}
	return time.AfterFunc(d, k.fab.WakeForeground).Stop
}

// beside runs loop beside the rank and returns what waits for its end.
func (k *rank) beside(loop func()) (join func()) {
	if k.virtual != nil {
		return k.virtual.Background(loop)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop()
	}()
	return func() { <-ended }
}

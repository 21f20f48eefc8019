// Package network says what one rank's end of a network is, for those who use one (package
// mpi) and those who have one: emu/host, mpi over endpoint, and emu/sim. A Fabric is what
// every network has. What else one may offer are interfaces of their own, which a user
// asks for once.
package network

import (
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Fabric is one rank's end of a network, as far as every network has it: the three device
// blocks, how a rank waits for them, and who has died.
//
// The rank's lock serialises all calls but Spin, Sleep, MarkBackground, WaitBackground
// and WakeForeground; while a rank spins or sleeps nobody calls Next, Release or Notified.
type Fabric interface {
	packetizer.Port
	mbox.Box
	rdmaeng.Engine

	Rank() int
	Size() int

	// Mark returns the state of the doorbell; Spin waits a short while and Sleep
	// as long as it takes, until something may have arrived or the doorbell has
	// been rung since the mark. Spin reports whether it was worth it.
	Mark() uint32
	Spin(mark uint32) bool
	Sleep(mark uint32)
	Yield() // lets others have the processor if they are likely to need it
	WakeForeground()

	// The background doorbell is for progress while nobody waits. ArmBackground asks
	// for it to be rung at the next arrival, and reports whether something has
	// arrived already. WakeBackground rings that of a rank whether or not it is armed.
	ArmBackground() (arrived bool)
	DisarmBackground()
	MarkBackground() uint32
	WaitBackground(mark uint32)
	WakeBackground(rank int)

	// Deaths counts the ranks that have died. A wait ends for those that SawDeaths has
	// not been told of.
	Deaths() uint32
	Dead(rank int) bool
	SawDeaths(n uint32)

	Finalize() // this rank leaves in good order
	Fail()     // this rank leaves in disorder
	Close()
}

// Poller looks whether there is anything to do for a time so short that the rank's lock
// is kept.
type Poller interface{ Poll(mark uint32) bool }

// Carrier is a network in which the rank that is written to does a part of the writes itself, and Carry a piece of
// that.
type Carrier interface{ Carry() }

// Streams is a network in which writes come as streams. Next takes in a part of one at a time.
type Streams interface {
	// Unread reports whether Next has returned no message although there may be more. Until it has returned one, or
	// this is false, what the dead have sent may not have been taken in.
	Unread() bool
}

// SharedMemory is that of a host, for collectives.
type SharedMemory interface {
	// Area is memory that all ranks share, of which each rank has so many. Each has a Counter
	// for each number below 1<<15 as well.
	Areas() int
	Area(rank, i int) []byte
	Counter(rank, i int) *atomic.Uint32

	// Watch makes waits also end for words of an area, until Unwatch. Settle is the
	// fence that precedes the last look before a sleep, and Notify wakes who sleeps. Fenced:
	// whoever stores a word does so with a full fence.
	Watch(w mem.Words)
	Unwatch()
	Settle()
	Notify(rank int)
	Fenced() bool

	// Oversubscribed reports whether any ranks share cores, and Yielding whether those hand
	// their core over by a yield. If they do so by some yields only, HandOver is what such a
	// one takes at least, else 0. PerCore is how many ranks a core has, Core where this one
	// runs if that matters, and Doorbells where the ranks' doorbells are. Looks is how often a
	// rank may look for something before it does anything else.
	Oversubscribed() bool
	Yielding() bool
	HandOver() time.Duration
	PerCore() int
	Core() uint32
	Looks() int
	Doorbells() (first uint64, step uint32)
}

// RemoteMemory is that of other ranks, which this one reads.
type RemoteMemory interface {
	// Reaches reports whether it makes sense to Read a rank's memory, which may be done
	// without the rank's lock and reports whether all has been read.
	Reaches(rank int) bool
	Read(rank int, addr uint64, to []byte) bool
}

// Hosts is a network whose ranks may be on several hosts.
type Hosts interface {
	// Host is the lowest rank on a rank's host. All ranks are told the same.
	Host(rank int) int
}

// Reasons is a network that may know why a rank is dead to this one.
type Reasons interface {
	// Why says that, and what to do about it, or returns nil. It needs no lock.
	Why(rank int) error
}

// VirtualTime is a fabric in which time passes as a simulation has it, and that therefore
// runs what belongs to a rank itself.
type VirtualTime interface {
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
	Meter(done *workcount.Count)
}

//go:build !hostfabric

package mpi

import (
	"errors"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// deviceTag is the build tag that has left only some of the devices.
const deviceTag = ""

// Devices returns the names of the devices.
func Devices() []string { return []string{deviceHost, devicePrototype, deviceRegisters} }

// fabric is one rank's end of the network: the three device blocks, how a rank waits
// for them, and its clock. emu/host, prototype and emu/sim implement it.
//
// The rank's lock serialises all calls but Spin, Sleep, MarkBackground,
// WaitBackground and WakeForeground; while a rank spins or sleeps nobody calls
// Next, Release or Notified.
type fabric interface {
	packetizer.Port
	mbox.Box
	rdmaeng.Engine

	Rank() int
	Size() int

	// Mark returns the state of the bell; Spin waits a short while and Sleep
	// as long as it takes, until something may have arrived or the bell has
	// been rung since the mark. Spin reports whether it was worth it. Glance
	// is a Spin so short that the rank's lock may be kept meanwhile.
	Mark() uint32
	Glance(mark uint32) bool
	Spin(mark uint32) bool
	Sleep(mark uint32)
	Yield() // lets others have the processor if they are likely to need it
	WakeForeground()

	// Alarm rings the bell after d, unless it is stopped before, which reports
	// whether it was in time.
	Alarm(d time.Duration) (stop func() bool)

	// Now is the rank's clock, and Compute keeps its processor busy for a time.
	Now() time.Duration
	Compute(d time.Duration)

	// Background runs loop, whose first call is WaitBackground, beside the rank, and
	// returns what waits for its end.
	Background(loop func()) (join func())

	// ArmBackground asks for the background bell to be rung at the next
	// arrival, and reports whether something has arrived already.
	ArmBackground() (arrived bool)
	DisarmBackground()
	MarkBackground() uint32
	WaitBackground(mark uint32)
	WakeBackground(rank int) // whether or not it is armed

	// Area is memory that all ranks share, of which each rank has so many.
	// Watch makes Glance, Spin and Sleep also look at words of it, Look looks
	// at some without the rank's lock, Settle is the fence that precedes the last
	// look before a sleep, and Rouse wakes who sleeps.
	Areas() int
	Area(rank, i int) []byte
	Fenced() bool
	Crowded() bool
	Yielding() bool
	PerCore() int
	Core() uint32
	Watch(w mem.Words)
	Unwatch()
	Look(w *mem.Words) bool
	Settle()
	Rouse(rank int)
	Berths() (first uint64, step uint32) // the ranks' bells, as internal/boardc has them

	// Reaches reports whether it makes sense to Read a rank's memory, which may be done
	// without the rank's lock and reports whether all has been read. Dear: that takes much
	// longer than to copy as much within the caches.
	Reaches(rank int) bool
	Read(rank int, addr uint64, to []byte) bool
	Dear() bool

	// Deaths counts the ranks that have died.
	Deaths() uint32
	Dead(rank int) bool
	SawDeaths(n uint32)

	Finalize() // this rank leaves in good order
	Fail()     // this rank leaves in disorder
	Close()
}

// openFabric opens the device for a member of a job that all ranks have joined.
func openFabric(m *host.Member, o *settings) (fabric, error) {
	if o.device == deviceRegisters {
		return openRegisters(m)
	}
	return settled(m, o), nil
}

// withAgents returns the fabric as the protocol readbased needs it.
func withAgents(f fabric, o *settings) (variants.ReadingDevice, error) {
	r, ok := f.(variants.ReadingDevice)
	if !ok {
		return nil, errors.New("the device " + o.device + " has no agent that reads, which the protocol readbased needs: choose another protocol or device")
	}
	return r, nil
}

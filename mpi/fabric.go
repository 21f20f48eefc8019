package mpi

import (
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// fabric is one rank's end of the network: the three device blocks, and how a
// rank waits for them. emu/host and prototype implement it.
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

	// ArmBackground asks for the background bell to be rung at the next
	// arrival, and reports whether something has arrived already.
	ArmBackground() (arrived bool)
	DisarmBackground()
	MarkBackground() uint32
	WaitBackground(mark uint32)
	WakeBackground(rank int) // whether or not it is armed

	// Deaths counts the ranks that have died.
	Deaths() uint32
	Dead(rank int) bool
	SawDeaths(n uint32)

	Finalize() // this rank leaves in good order
	Fail()     // this rank leaves in disorder
	Close()
}

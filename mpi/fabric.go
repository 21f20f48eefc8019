package mpi

import (
	"errors"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Devices returns the names of the devices.
func Devices() []string { return []string{deviceHost, devicePrototype, deviceRegisters} }

// fabric is one rank's end of a network, as far as every network has it: the three device
// blocks, how a rank waits for them, and who has died. What else a network may offer are
// interfaces of their own, see offers.
//
// The rank's lock serialises all calls but Spin, Sleep, MarkBackground, WaitBackground
// and WakeForeground; while a rank spins or sleeps nobody calls Next, Release or Notified.
type fabric interface {
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

package mpi

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// fabric is one rank's end of a network.
type fabric = network.Fabric

// Devices returns the names of the devices.
func Devices() []string { return []string{deviceHost, devicePrototype, deviceRegisters, deviceNetwork} }

// openFabric opens the device for a member of a job that all ranks have joined.
func openFabric(m *host.Member, o *settings) (fabric, error) {
	switch {
	case o.overNetwork():
		return openNetwork(m, o)
	case o.device == deviceRegisters:
		return openRegisters(m, o)
	}
	for i := range m.Size() {
		if !m.Here(i) {
			return nil, fmt.Errorf("rank %d is on another host, which the device %s does not reach: choose the device "+
				"%s, or none", i, o.device, deviceNetwork)
		}
	}
	return settled(m, o), nil
}

// hostOf is the part of a fabric by which ranks of one host talk, nil if it is not that of emu/host.
func hostOf(f fabric) *host.Fabric {
	switch f := f.(type) {
	case *host.Fabric:
		return f
	case *net.Fabric:
		return f.Fabric
	}
	return nil
}

// ordered returns an error if the device does not promise the order that a protocol needs.
func ordered(needs, promised rdmaeng.Order, o *settings) error {
	if lacks := needs &^ promised; lacks != 0 {
		return fmt.Errorf("the device %s does not promise that %v, which the protocol %s needs: choose another "+
			"protocol or device", o.device, lacks, o.variant)
	}
	return nil
}

// withAgents returns the fabric as the protocol readbased needs it.
func withAgents(f fabric, o *settings) (variants.ReadingDevice, error) {
	r, ok := f.(variants.ReadingDevice)
	if regs, is := f.(*registers); is && !regs.HasAgent() {
		ok = false
	}
	if !ok {
		return nil, errors.New("the device " + o.device +
			" has no agent that reads, which the protocol readbased needs: choose another protocol or device")
	}
	return r, nil
}

//go:build hostfabric

package mpi

import (
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/variants"
)

// The build tag hostfabric pins the device, see docs/performance.md. What the
// methods do is said at the interface that it replaces.
type fabric = *host.Fabric

const deviceTag = "hostfabric"

// Devices returns the names of the devices: those that emu/host serves.
func Devices() []string { return []string{deviceHost, devicePrototype} }

func openFabric(m *host.Member, o *settings) (fabric, error) { return settled(m, o), nil }

func withAgents(f fabric, _ *settings) (variants.ReadingDevice, error) { return f, nil }

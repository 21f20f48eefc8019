//go:build !hostfabric

package variants

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Device is what a protocol needs of the fabric to send.
type Device interface {
	packetizer.Port
	rdmaeng.Engine
}

// ReadingDevice is a Device that has agents as well, for package readbased.
type ReadingDevice interface {
	packetizer.Port
	rdmaeng.Reader
}

// port is what an Outbox needs of it.
type port = packetizer.Port

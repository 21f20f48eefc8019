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

// reader is a port that reads headers where they lie, as that of emu/host does.
type reader interface {
	TrySendAt(to int, h *packetizer.Header, payload []byte) bool
}

// readerOf is the port as one, nil if it is none.
func readerOf(p port) reader {
	r, _ := p.(reader)
	return r
}

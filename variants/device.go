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

// reader is a port that reads headers where they lie, as that of emu/host does.
type reader interface {
	TrySendAt(to int, h *packetizer.Header, payload []byte) bool
}

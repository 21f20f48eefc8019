// Package mbox receives the messages that packetizers send (thesis 2.2).
//
// Box is what the layers above use. Its implementations are Device in this
// package, which reads the memory-mapped mailbox of the prototype, and the
// shared-memory rings of emu/host.
package mbox

import "github.com/exanet-mpi/exanet/packetizer"

// Box is the receiving end of a rank. One Box belongs to one rank and is not
// safe for concurrent use: its rank serialises the calls.
type Box interface {
	// Next returns the oldest message of some sender, if any has arrived. The
	// payload belongs to the device and is valid until Release, which must be
	// called before the next Next. It is _MBOX_TRY_DEQUEUE_64B of the thesis
	// (2.4) without its copy.
	Next() (h packetizer.Header, payload []byte, ok bool)

	// Release gives the slot of the message that Next returned back to its
	// sender.
	Release()
}

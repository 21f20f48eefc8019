package variants

import (
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Protocol is one rank's state machine. The calls of its owner are its inputs;
// none of them waits.
type Protocol interface {
	// Open makes a communicator known. Messages for it may have arrived before.
	// Close forgets it: its requests are Done and what Extract has returned has
	// been received, as Active says, or Close panics. Unexpected messages are
	// dropped, and so is what still arrives for it. Its id may be opened again
	// with a later generation.
	Open(*Context)
	Close(*Context)
	// Skip is an Open and a Close of what has an id and a generation, but takes less time.
	Skip(id, gen uint32)
	// Leave and OnLeft are of Core.
	Leave(world int, id, gen uint32)
	OnLeft(f func(id, gen uint32))

	// TrySend sends a standard message that fits one message of the device and
	// needs no request. It reports false, having done nothing, if the message
	// is too long or is not taken now: then PostSend will. Full reports
	// whether a refused one may go soon: the device was full.
	TrySend(ctx *Context, dst, tag int32, buf []byte) bool
	Full(ctx *Context, dst int32, n int) bool

	PostSend(*Request)
	PostRecv(*Request)
	// Cancel asks for a posted request to be taken back. It completes in any
	// case: cancelled, or as if nothing had been asked.
	Cancel(*Request)
	// Probe looks for a message that a receive with these arguments would take
	// if it were posted now. If there is none and none can be relied upon to
	// come, it returns an error.
	Probe(ctx *Context, src, tag int32) (st Status, found bool, err error)

	// Extract removes the message that Probe would describe from matching: now
	// only PostMatched receives it (MPI_Mprobe). Until then it counts as Active.
	Extract(ctx *Context, src, tag int32) (m *Message, found bool, err error)
	// PostMatched posts a receive for a message that Extract has returned, and
	// sets its Peer and Tag. m must not be used afterwards.
	PostMatched(r *Request, m *Message)
	// Deliver takes a message from the mailbox; it does not keep payload.
	Deliver(h packetizer.Header, payload []byte)
	// Notified takes the notification of a completed write.
	Notified(slot int, n rdmaeng.Notification)
	// PeerFailed ends every request that waits for a rank of the job that has
	// died. All that the rank sent before has been delivered, and it does not
	// write any more.
	PeerFailed(world int)

	// NeedsOrder is what the protocol needs of the device.
	NeedsOrder() rdmaeng.Order
	// Needs says what the protocol needs of its owner now. Progress carries on what it
	// can by itself, and reports whether it got anywhere. Wake calls f for the ranks that
	// those of its needs are about which are in which.
	Needs() Needs
	Progress() (moved bool)
	Wake(which Needs, f func(world int))

	Counters() *Counters
	// Work is where what the rank's processor does is counted.
	Work() *workcount.Count
	// Waiting calls f with a line for everything that has not completed: what
	// it is, and what it waits for.
	Waiting(f func(line string))
}

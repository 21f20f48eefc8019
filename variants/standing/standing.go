// Package standing is the thesis's own proposal for sends without a rendezvous (6.2): the ticket of a receive that
// repeats names a buffer on which sender and receiver have agreed before, so each message is one write with its
// notification, and no RTR, RTS or CTS.
//
//	what happens                          messages
//	the receive repeats another           Stand, once
//	a send from then on                   write, into a buffer of the receiver's library
//	its receive                           a copy; nothing goes back
//	messages go one way only              a Freed for every two
//	another buffer, a cancel, the end     Revoke, Revoked
//
// All else is package ticket, which has the code: stand.go there says how it is kept in order. The buffers are the
// library's, not the program's: MPI gives the program its buffer back between two receives, and a sender that knows no
// RTR cannot know when that is over. So a message costs the receiver a copy, and only short long ones go this way.
package standing

import (
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// After is how many receives of the same buffer come before one whose sender is given buffers.
const After = 2

// Most is the size in bytes up to which messages go this way, where the device's messages do not hold an eighth of it.
const Most = 4 << 10

// New makes the protocol of rank me of the job. Buffers are given to a receive that so many of the same buffer have
// come before: After, unless to try them out.
func New(me int, dev variants.Device, after int) *ticket.Protocol {
	return ticket.NewStanding(me, dev, max(Most, 8*dev.Limit()), after)
}

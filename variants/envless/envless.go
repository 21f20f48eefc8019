// Package envless is the second write-based protocol of the thesis (3.3, 3.4),
// write_based 2.0: package rtr without the Env.
//
// What the Env told the receiver of a fast receive comes with the write itself:
// the notification carries size and tag. So such a receive can complete without
// any message from the sender, and two things that the Env took care of need
// care:
//
//   - An RTS that crossed the RTR belongs to the receive although its write has
//     landed first (thesis fig. 3.15). The notification's third word says
//     whether an RTS was sent; if so the receive waits for it (figs. 3.16-3.18).
//   - A later message must not match the receive while its write is under way
//     (figs. 3.19, 3.20). The sender keeps back what it has for that peer until
//     the notification has been delivered, and the receiver looks at its
//     notifications again after it has taken a message from the mailbox, before
//     it matches it.
//
// Under MPI_THREAD_MULTIPLE the thesis keeps the Env (fig. 3.19), and so does
// this: the protocol then is rtr.
//
// The code is rtr's, where elide is looked at: the fast send (send.go), the
// second look (rtr.go, Deliver) and the notification (recv.go, Notified).
package envless

import (
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/rtr"
)

// New makes the protocol of rank me of the job. multiple says that several
// goroutines may call at a time.
func New(me int, dev variants.Device, multiple bool) *rtr.Protocol {
	if multiple {
		return rtr.New(me, dev)
	}
	return rtr.NewElided(me, dev)
}

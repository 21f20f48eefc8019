// Package auto is package ticket with choices: how a long message goes depends on how those before it went. The thesis
// proposes that in its section 6.2; the forms to choose from are its own and HYBRID of Small and Yuan (package
// customized).
//
//	who chooses              the form it begins with   the other   when
//	the receiver, posting    RTR, then the write       silence     eager messages have made its RTRs stale
//	the sender, if it        RTS, CTS, write           a copy,     the receive has always been posted much later, and
//	comes first              (SEND_RNDV)               HYBRID      the message is no longer than Bands say
//
// What is chosen is a pure function of counted events, for each communicator, peer and size: package ticket's
// history.go. The two ends need not agree, since each message says itself how it goes. A channel changes slowly: how
// many events that takes is Default.
package auto

import (
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// Default is the rule of auto. A silent receive is wrong at most once for 50 RTRs that it has followed, so what it
// costs is at most two in 100 of the control messages.
var Default = ticket.Rule{Silence: 50, Late: 16, Crossed: 4}

// New makes the protocol of rank me of the job, whose copies have up to so many bytes.
func New(me int, dev variants.Device, hybrid int) *ticket.Protocol {
	return NewBy(me, dev, hybrid, Default)
}

// NewBy is New with another rule.
func NewBy(me int, dev variants.Device, hybrid int, rule ticket.Rule) *ticket.Protocol {
	return ticket.NewAuto(me, dev, hybrid, rule)
}

package sim

import (
	"cmp"
	"slices"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// EventKind is what an Event tells of.
type EventKind uint8

// The kinds of events.
const (
	Sent     EventKind = iota // a message was written to the packetizer of From
	Taken                     // To has taken it out of its mailbox
	Fetching                  // From has asked the R5 beside To for a write
	Asked                     // the R5 has taken that in
	Writing                   // a write of From to To was given to the engine
	Written                   // its notification is at To
	Noticed                   // To has seen it
)

// Event is one moment of a traced simulation.
type Event struct {
	At       Time
	Kind     EventKind
	From, To int32 // ranks
	Header   packetizer.Header
	Notify   rdmaeng.Notification
	Bytes    int
	ID       uint32 // of the message or write: the same at both ends while it lives
}

func (s *Sim) note(e Event) {
	if s.tracing {
		s.trace = append(s.trace, e)
	}
}

// Trace returns what has been traced, in the order of time.
func (s *Sim) Trace() []Event {
	slices.SortStableFunc(s.trace, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return s.trace
}

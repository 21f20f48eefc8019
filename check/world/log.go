package world

import (
	"fmt"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// EventKind is what has happened.
type EventKind uint8

// The events. Rank is where something happened, Peer the other end.
const (
	Began     EventKind = iota // an Action, or an operation that Close posts
	Posted                     // a request
	Probed                     // a probe returned
	Asked                      // a request shall be cancelled
	Taken                      // an extracted message is received
	Renewed                    // Rank has freed the communicator, or opened it; in Op
	Sent                       // a control message is on its way
	Delivered                  // a control message has arrived; Rank received it
	Started                    // an RDMA write
	Landed                     // data of a write; All with the last piece
	Noticed                    // the notification of a write has been seen; Rank received it
	Finished                   // the sender knows that its write is done
	Completed                  // a request
)

// Event is something that has happened.
type Event struct {
	Kind    EventKind
	Rank    int
	Peer    int
	ID      int // of the message or write
	Action  Action
	Closing bool // Began: an operation posted by Close, in Op
	Op      Op
	Request *Request
	Env     variants.Envelope // of a message
	Payload []byte            // of a message
	Size    int               // bytes written
	All     bool
	Agent   bool // Started: by the agent beside Rank
	Reader  bool // Started: by Peer, which reads what Rank has lent
	Notice  rdmaeng.Notification
	Stands  bool // Noticed: a write into a buffer that stands
	Found   bool
	Status  variants.Status
	Err     error
}

func (w *World) log(e Event) { w.Log(e) }

func (w *World) logMessage(kind EventKind, from, to int, m *message) {
	e := Event{Kind: kind, Rank: from, Peer: to, ID: m.id, Env: variants.Unpack(m.header),
		Payload: append([]byte(nil), m.payload[:m.n]...)}
	if kind == Delivered {
		e.Rank, e.Peer = to, from
	}
	w.log(e)
}

// InFlight returns the control messages that are in the queue of a pair, oldest
// first.
func (w *World) InFlight(from, to int) (msgs []Event) {
	q := w.queue(from, to)
	for i := range q.msgs {
		m := &q.msgs[i]
		msgs = append(msgs, Event{Kind: Sent, Rank: from, Peer: to, ID: m.id, Env: variants.Unpack(m.header),
			Payload: m.payload[:m.n]})
	}
	return msgs
}

// Write is what Writes tells of an RDMA write.
type Write struct {
	From, To          int
	Size, Pieces      int
	Landed            bool // with its notification
	Noticed, Finished bool
}

// Writes returns the writes that are not over yet.
func (w *World) Writes() (under []Write) {
	for _, r := range w.ranks {
		for _, v := range r.writes {
			if !v.over() {
				under = append(under, Write{From: v.from, To: v.to, Size: len(v.t.Src), Pieces: v.pieces,
					Landed: v.all, Noticed: v.noticed, Finished: v.finished})
			}
		}
	}
	return under
}

// Name is a request in words.
func (w *World) Name(q *Request) string {
	return fmt.Sprintf("request %d of rank %d (%s)", q.ID, q.Rank, q.Op)
}

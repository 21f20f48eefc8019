package regs

import "time"

// Fault is a fault of the hardware that tests plant, to see that they notice:
// each is one condition at the place that it breaks.
type Fault string

// The faults.
const (
	AnyPDID       Fault = "any PDID"          // messages and writes of other groups are accepted
	SendLost      Fault = "SEND lost"         // some messages are overlooked: they never leave their window
	DoneEarly     Fault = "DONE early"        // DONE of a window is written before RESULT
	BadRouteOK    Fault = "bad route OK"      // what goes nowhere is reported as delivered, or written
	Swapped       Fault = "swapped"           // messages of one sender overtake each other
	TailEarly     Fault = "TAIL early"        // TAIL of a mailbox is written before the slot
	HeadIgnored   Fault = "HEAD ignored"      // a full mailbox accepts messages
	WrongNode     Fault = "wrong node"        // NODE of mailboxes is another one
	ChunkLost     Fault = "chunk lost"        // the last chunk of a write is not written
	NotifiedEarly Fault = "notified early"    // the notification comes before the data
	NotifiedTwice Fault = "notified twice"    // and again, with a later one
	NotNotified   Fault = "not notified"      // no notification comes
	AgentDeaf     Fault = "agent deaf"        // agents do nothing, and say that they have
	Uncounted     Fault = "refused uncounted" // REFUSED stays 0
)

// Faults are all of them.
var Faults = []Fault{AnyPDID, SendLost, DoneEarly, BadRouteOK, Swapped, TailEarly, HeadIgnored, WrongNode, ChunkLost,
	NotifiedEarly, NotifiedTwice, NotNotified, AgentDeaf, Uncounted}

// gap is between two stores whose order a fault has changed: time for the other
// side to see the first alone.
func gap() { time.Sleep(200 * time.Microsecond) }

// overlooked is how many messages there are to one that SendLost loses.
const overlooked = 7

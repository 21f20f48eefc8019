package rdmaeng

import "strings"

// Order is what a device promises of the order in which the messages and writes of one rank reach another, or what a
// protocol needs of that, as a set. Nothing is promised between two writes.
type Order uint8

const (
	// MessagesInOrder: messages are delivered in the order in which they were sent.
	MessagesInOrder Order = 1 << iota
	// DataFirst: the data of a write are in their places when Notified returns it.
	DataFirst
	// WritesFirst: if Test had reported a write as done when a message was sent, Notified returns it, unless it has
	// already, when the message is delivered.
	WritesFirst

	// LastByteLast: the last byte of the data of a write is in its place only after all others. A device that promises
	// it is a Watcher. No protocol needs it, and it is not in AllOrder.
	LastByteLast

	AllOrder = MessagesInOrder | DataFirst | WritesFirst
)

var orders = []string{"messages come in order", "data come before their notification",
	"writes come before later messages", "the last byte of a write comes last"}

func (o Order) String() string {
	var list []string
	for i, text := range orders {
		if o>>i&1 != 0 {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

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
	// MessagesFirst: a message that had been sent when a write was started is delivered before Notified returns the
	// write.
	MessagesFirst
	// Reusable: a window takes another write when Notified has returned the last, without being exposed again.
	Reusable

	// LastByteLast: the last byte of the data of a write is in its place only after all others. A device that promises
	// it is a Watcher. No protocol needs it.
	LastByteLast

	AllOrder = MessagesInOrder | DataFirst | WritesFirst // of any device
	Standing = MessagesFirst | Reusable                  // what buffers that stand need besides
)

var orders = []string{"messages come in order", "data come before their notification",
	"writes come before later messages", "messages come before later writes", "windows can be written to again",
	"the last byte of a write comes last"}

func (o Order) String() string {
	var list []string
	for i, text := range orders {
		if o>>i&1 != 0 {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

package randprog

import "errors"

// Wildcards and the null process, as programs name them. A World translates
// them both ways.
const (
	AnySource = -1
	AnyTag    = -1
	ProcNull  = -2
)

// Mode is a send mode of MPI.
type Mode uint8

// The four send modes.
const (
	Standard Mode = iota
	Synchronous
	Buffered
	Ready
	modes
)

// String is the prefix that the mode gives to "send".
func (m Mode) String() string { return [modes]string{"", "s", "b", "r"}[m] }

// Status is what MPI reports about a receive or probe. Bytes is the size of
// the message as sent.
type Status struct {
	Source, Tag, Bytes int
	Cancelled          bool
}

// ErrTruncated is what a World returns, possibly wrapped, for a receive whose
// message was longer than its buffer. The Status is filled nonetheless.
var ErrTruncated = errors.New("message longer than the receive buffer")

// World is one rank's view of an MPI implementation under test. It is used by
// several goroutines at once, but collectives by one at a time.
type World interface {
	Rank() int
	Size() int
	Send(mode Mode, buf []byte, dest, tag int) error
	Isend(mode Mode, buf []byte, dest, tag int) (Request, error)
	Recv(buf []byte, source, tag int) (Status, error)
	Irecv(buf []byte, source, tag int) (Request, error)
	Sendrecv(send []byte, dest, sendTag int, recv []byte, source, recvTag int) (Status, error)
	Probe(source, tag int) (Status, error)
	Iprobe(source, tag int) (bool, Status, error)
	// Mprobe and Improbe take the message that they find, which only its Recv
	// receives. Improbe returns nil if there is none.
	Mprobe(source, tag int) (Taken, Status, error)
	Improbe(source, tag int) (Taken, Status, error)
	WaitAll(reqs []Request) error
	WaitAny(reqs []Request) (int, Status, error)

	// Barrier and Sum are collectives. Sum replaces v by the sum over all ranks.
	Barrier() error
	Sum(v []int64) error
}

// Taken is a message that a matched probe has taken.
type Taken interface {
	Recv(buf []byte) (Status, error)
}

// Request is an operation in flight.
type Request interface {
	Wait() (Status, error)
	Test() (bool, Status, error)
	Cancel() error
}

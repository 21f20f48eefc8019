package world

import (
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Kind says what an operation does.
type Kind uint8

// The operations of a program.
const (
	Send Kind = iota
	Recv
	Probe
	Cancel
	Wait
	Extract // a matched probe: what it finds is received by Take
	Take    // of a program: what the newest Extract has found
	Free    // close the communicator; a program opens the next generation at once
	Open    // open the communicator in its next generation; not in programs
)

// Op is one operation of a rank.
type Op struct {
	Kind    Kind
	Sync    bool  // a synchronous send
	Matched bool  // a receive that began with Extract
	Block   bool  // the program goes on when it has completed; of Probe: when it has found something
	Peer    int   // rank, or variants.AnySource
	Tag     int32 // or variants.AnyTag
	Size    int   // bytes of the message or of the receive buffer
	Comm    int   // communicator: 0 or 1
	Req     int   // Cancel, Wait, Take: which request of the rank, in the order of posting
}

// Program is a list of operations for each rank.
type Program [][]Op

// Symbols for people.
func peerName(p int) string {
	if p == int(variants.AnySource) {
		return "any"
	}
	return fmt.Sprint(p)
}

func tagName(t int32) string {
	if t == variants.AnyTag {
		return "any"
	}
	return fmt.Sprintf("T%d", t)
}

func (o Op) String() string {
	s := o.words()
	if o.Comm > 0 {
		s += fmt.Sprintf(", communicator %d", o.Comm)
	}
	return s
}

func (o Op) words() string {
	switch o.Kind {
	case Send:
		name := "send"
		if o.Sync {
			name = "ssend"
		}
		if !o.Block {
			name = "i" + name
		}
		return fmt.Sprintf("%s to %s, tag %s, %d B", name, peerName(o.Peer), tagName(o.Tag), o.Size)
	case Recv:
		name := "recv"
		if !o.Block {
			name = "irecv"
		}
		return fmt.Sprintf("%s from %s, tag %s, %d B", name, peerName(o.Peer), tagName(o.Tag), o.Size)
	case Probe:
		name := "probe"
		if !o.Block {
			name = "iprobe"
		}
		return fmt.Sprintf("%s from %s, tag %s", name, peerName(o.Peer), tagName(o.Tag))
	case Extract:
		return fmt.Sprintf("improbe from %s, tag %s, for %d B", peerName(o.Peer), tagName(o.Tag), o.Size)
	case Take:
		return fmt.Sprintf("mrecv of request %d", o.Req)
	case Free:
		return "free"
	case Open:
		return "open"
	case Cancel:
		return fmt.Sprintf("cancel of request %d", o.Req)
	}
	return fmt.Sprintf("wait for request %d", o.Req)
}

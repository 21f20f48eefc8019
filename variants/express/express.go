// Package express is the express lane: what calls of a program that is not written
// in Go may do by themselves, without entering it, since to enter costs more than a
// short message.
//
// They send and receive eager messages on lanes where nothing else is going on: no
// receive is posted, no message has come unexpected, nothing is being cancelled. The
// protocol (package ticket) lends such a lane, that is (communicator, peer, tag) in
// one direction, with the number of its next message. Whoever is on the express lane
// writes that message into the ring of the peer, or takes it out of the ring, and
// counts on. The messages are those that the protocol would have sent, so the other
// end knows no difference; so are the ones that tell what has been consumed. As soon as
// the protocol meets the lane itself it recalls it, and goes on from the number that it
// finds.
//
// A receive of the express lane may also be noted, in a slot, and be completed
// later. To everybody else it counts as posted; so whoever takes the rank's lock in
// Go posts the noted receives first, in their order, and finds none.
//
// A receive with a wildcard takes the next message of a lane that it admits, if none waits in the
// protocol. A persistent request, whose handle stays, is started as one of the lane.
//
// Long messages have a rendezvous there: a receive, noted or in a call that waits, says so
// in a word next to the ring, and a send that finds it copies the message while
// the receive, if it waits, copies a part (rendezvous.c of package lanec). It is a message of its lane as
// all others. Whichever side does not come to its turn soon, or cannot copy, gives up,
// and the message goes the protocol's way. A long send that does not block goes on when it
// has found the receive; whichever rank comes to wait for the message copies it. Whoever
// takes the rank's lock in Go ends such sends first.
//
// All of this is in a Table, which has no pointers of Go's and does not move. The
// express lane itself is C, cmd/libexanet/entry/lane.c, with the same layout.
// The lock between the two is the table's gate (Gate).
package express

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Sizes of a table.
const (
	Lanes = 256  // in each direction; the place of one is computed, see Place
	Slots = 2048 // receives that are noted, or whose outcome nobody has asked for
	Kepts = 256  // persistent requests that may be started here; number 0 is none
)

// How who waits hands his core to other ranks.
const (
	Roomy    = iota // it need not: each has one
	Yielding        // by yields
	Napping         // only by sleeping
)

// Table is what a rank shares with its express lane. But for the gate, its words are
// read and written by who holds it.
type Table struct {
	Gate

	Armed uint32 // waits belong into Go: the background bell is up, or a call waits there
	Spins uint32 // looks at a ring before a wait goes on in Go
	Limit uint32 // of eager messages, in bytes

	// The geometry of rings: cells and bulk bytes, powers of two.
	Cells, Shift, Bulk uint32

	Window uint32 // bytes of eager messages that a peer may leave unmatched
	Crowd  uint32 // whether ranks share cores: Roomy, Yielding or Napping

	// Noted receives, by slot+1, oldest first; and free slots.
	First, Last, Free uint32
	Fresh             uint32 // slots from this one on have never been used

	Outside uint64 // address of a count; unless that is 0, waits belong into Go
	Cell    uint64 // bytes from the beginning of a ring to its cells

	Berths, Own  uint64 // addresses of rank 0's bells, and of this rank's, see package host
	Step, Fenced uint32 // bytes from one rank's to the next; 1: messages are published with a fence
	Direct, Most uint32 // bytes of the least and the longest message that has a rendezvous
	Sends        uint32 // sends that have gone on, by slot+1

	// What receives with a wildcard want to know: the places of the lanes to receive on that are
	// lent, and where the last of them was found; messages that wait in the protocol, which come
	// first; and the ranks of the job.
	Ins, Turn     uint32
	Strays, Ranks uint32
	PerCore       uint32 // ranks that a core has at most where they are spread evenly
	Listed        [Lanes]uint16

	Credit [2]uint64 // of the header of the messages that tell what has been consumed

	In, Out [Lanes]Lane
	Slots   [Slots]Slot
	Kept    [Kepts]Kept
}

// Kept is a persistent send or receive, at the place that its number is in the program's handle.
type Kept struct {
	Buf        uint64 // address
	Count      int64
	Type, Comm uint64 // handles, as the program knows them; Comm is 0 if there is none here
	Peer, Tag  int32
	Sends      uint32 // 1: it is a send
	Away       uint32 // number of what has been started of it on the lane; InGo, or 0 if it has not been
}

// InGo stands for a number: it has been started in Go.
const InGo = 1

// Lane is one that has been lent.
type Lane struct {
	Comm  uint64 // handle of the communicator, as the program knows it
	Peer  int32  // rank in it
	Tag   int32
	Head  uint64 // of word 0 of its messages: the upper half
	Word  uint64 // word 1 of its messages
	Port  uint64 // address of the peer's
	Next  uint32 // number of the next message
	Noted uint32 // receives; of a lane to send on, slot+1 of the send that has gone on
	Lent  uint32 // 0: not, the rest means nothing; 2: a send has gone on
	_     [12]byte
}

// Port is the way to a peer and back. The account belongs to the protocol too.
type Port struct {
	variants.Account
	Out, In   uint64 // addresses of the rings, 0 until they are known
	Bell      uint64 // address of the flags of the peer's bells
	Pid       int32  // of the peer, if its memory can be reached, else 0
	Calm, Shy int32  // whether long messages sent and received look for a rendezvous
	Idle      int32  // and noted receives of such as fit the ring
	Open      uint64 // which of the peer's meetings this rank uses
}

// Collective is the bit by which the lanes of a communicator's collectives, of two ranks, have
// another handle.
const Collective = 1 << 62

// States of a slot.
const (
	Unused  uint32 = iota
	Noted          // in the list of noted receives
	Done           // the message is there
	Posted         // by the protocol, which completes it
	Sending        // in the list of sends that have gone on
)

// Slot is a receive of the express lane, or a send that has gone on.
type Slot struct {
	Buf    uint64 // address of the buffer, and its bytes
	Room   uint32
	State  uint32
	Comm   uint64
	Source int32 // rank in Comm; of a send, whom it is for
	Tag    int32
	Size   uint32 // of the message, when it is there
	Lane   uint32 // those to send on are counted on from Lanes
	Next   uint32 // in its list, or that of the free, by slot+1
	Prev   uint32
	Advert advert // if it has a rendezvous
}

// Sends reports whether it is a send.
func (s *Slot) Sends() bool { return s.Lane >= Lanes }

// Place is where a lane is in its table, if it has been lent.
func Place(comm uint64, peer, tag int32) uint32 {
	return ((uint32(comm)^uint32(comm>>32))*0x9e3779b1 + uint32(peer)*0x85ebca6b + uint32(tag)*0xc2b2ae35) >> 24
}

// Copy copies between b and what is at an address of the peer at a port, and reports whether it could.
type Copy func(p *Port, addr uint64, b []byte) bool

// Popped is a receive that was noted, or a send that had gone on.
type Popped struct {
	Slot   int
	Passed bool  // a rendezvous has brought its message, the next of its lane
	Missed *Port // of a long receive that has had none
}

// Pop takes the oldest noted receive out of the list, when what has begun with its rendezvous is over.
// ok is false if there is none.
func (t *Table) Pop(read Copy) (p Popped, ok bool) {
	if t.First == 0 {
		return p, false
	}
	p.Slot = int(t.First - 1)
	s := &t.Slots[p.Slot]
	if t.First = s.Next; t.First == 0 {
		t.Last = 0
	} else {
		t.Slots[t.First-1].Prev = 0
	}
	t.In[s.Lane].Noted--
	s.State = Posted
	if s.Advert.word != 0 {
		port := mem.Deref[Port](t.In[s.Lane].Port)
		if s.Size, p.Passed = s.Advert.endReceive(port, s.Buf, read); p.Passed {
			s.State = Done
		} else if s.Room > t.Limit {
			p.Missed = port
		}
		s.Advert = advert{}
	}
	return p, true
}

// PopSend is Pop for the sends that have gone on, the last one first. The lane of one whose message
// has not been passed is again as it was before the send.
func (t *Table) PopSend(write Copy) (p Popped, ok bool) {
	if t.Sends == 0 {
		return p, false
	}
	p.Slot = int(t.Sends - 1)
	s := &t.Slots[p.Slot]
	if t.Sends = s.Next; t.Sends != 0 {
		t.Slots[t.Sends-1].Prev = 0
	}
	l := &t.Out[s.Lane-Lanes]
	l.Noted, l.Lent = 0, 1
	s.State = Posted
	if s.Advert.word != 0 && s.Advert.endSend(mem.Deref[Port](l.Port), s.Buf, write) {
		l.Next++
		p.Passed, s.State = true, Done
	}
	s.Advert = advert{}
	return p, true
}

// Release gives a slot back.
func (t *Table) Release(slot int) {
	t.Slots[slot].State = Unused
	t.Slots[slot].Next, t.Free = t.Free, uint32(slot+1)
}

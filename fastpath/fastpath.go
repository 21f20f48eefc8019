// Package fastpath is what calls of a program that is not written in Go need to send and receive
// short messages by themselves: to enter Go costs more than such a message.
//
// A protocol leases a channel, that is (communicator, peer, tag) in one direction, on which
// nothing is under way (variants.FastPath says more). The fast path writes the next message of such a
// channel into the ring of the peer, or takes it out of the ring, and counts on. It also tells
// peers what it has consumed of their messages, and takes such news. All else is done in Go.
//
// A receive of the fast path may be pending, in a slot, and be completed later. To everybody else it
// counts as posted: whoever takes the rank's lock in Go posts the pending receives first, in
// their order, and finds none.
//
// The state is a Table, which has no pointers of Go's and does not move. The steps are C
// (cmd/libexanet/c), with the layout that cmd/libexanet/layout writes from the types here. A biased lock
// keeps the two apart.
package fastpath

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/variants"
)

// Sizes of a table, and numbers of requests in the handles of a program.
//
//exanet:c FAST_
const (
	Channels    = 256       // in each direction; the place of one is computed, see Place
	Slots       = 2048      // receives that are pending, or whose outcome nobody has asked for
	FirstSlot   = 1 << 25   // the number of a slot's request is that many higher; others are lower
	SentAll     = 1<<26 - 1 // that of every send which has left on the fast path
	NextMessage = 1 << 32   // what is added to the last word of a header for the next message of its channel
)

// How ranks that wait let others run.
//
//exanet:c FAST_
const (
	Dedicated = iota // they need not: each has a core
	Yielding         // by yields
	InGo             // in Go, or by other threads
)

// Table is what a rank shares with its fast path. But for the lock, its words are
// read and written by who holds that.
//
//exanet:c fast_table
type Table struct {
	Lock BiasedLock

	Armed    uint32 // waits belong into Go: the background bell is up, or a call waits there
	Waiting  uint32 // how a call waits: Dedicated, Yielding or InGo
	Limit    uint32 // of eager messages, in bytes
	Window   uint32 // bytes of eager messages that a peer may leave unmatched
	Fenced   uint32 // 1: messages are published with a fence
	Ranks    uint32 // of the job
	Step     uint32 // bytes from one rank's doorbell to the next
	RingStep uint32 // bytes from one ring of Inward to the next

	Rings Geometry

	// Pending receives, by slot+1, oldest first; and free slots.
	First, Last, Free uint32
	Fresh             uint32 // slots from this one on have never been used

	Outside   uint64    // address of a count; unless that is 0, waits belong into Go
	Doorbells uint64    // address of rank 0's
	Inward    uint64    // address of the ring from rank 0; 0: there are too many to look at
	Credit    [2]uint64 // of the header of the messages that tell what has been consumed

	// Tested tells which requests of Go's have been tested last, and none was done; 0: nobody knows. It is not
	// under the lock, so a test may say for a while that a request is not done that another thread has completed.
	Tested atomic.Uint64

	Counts Counts

	In, Out [Channels]Channel
	Slots   [Slots]Slot
}

// Counts is what the fast path has done: messages and their bytes, and waits for one
// that was not there.
//
//exanet:c fast_counts
type Counts struct{ Sends, Sent, Receives, Received, Waits uint64 }

// Geometry is the size of every ring of the job.
//
//exanet:c geometry
type Geometry struct {
	Cells, Shift uint32 // a power of two, and its logarithm
	Bulk         uint32 // bytes, a power of two
}

// Channel is one that is leased.
//
//exanet:c fast_channel
type Channel struct {
	Comm    uint64    // handle of the communicator, as the program knows it
	Peer    int32     // rank in it
	Tag     int32     //
	Header  [3]uint64 // of the next message; the lower half of word 0 is the ring's
	Port    uint64    // address of the peer's
	Pending uint32    // receives
	Leased  uint32    // 0: not, the rest means nothing
}

// Port is the way to a peer and back.
//
//exanet:c fast_port
type Port struct {
	variants.Account        // the protocol counts in it too
	Out, In          uint64 // addresses of the rings, 0 until they are known
}

// States of a slot.
//
//exanet:c SLOT_
const (
	Unused  uint32 = iota
	Pending        // in the list of pending receives
	Done           // the message is there
	Posted         // by the protocol, which completes it
)

// Slot is a receive of the fast path.
//
//exanet:c fast_slot
type Slot struct {
	Buf    uint64 // address of the buffer, and its bytes
	Room   uint32
	State  uint32
	Comm   uint64
	Source int32 // rank in Comm
	Tag    int32
	Size   uint32 // of the message, when it is there
	Place  uint32 // of the channel
	Next   uint32 // in its list, or that of the free, by slot+1
	Prev   uint32
}

// Place is where a channel is in its table, if it is leased.
func Place(comm uint64, peer, tag int32) uint32 {
	return ((uint32(comm)^uint32(comm>>32))*commFactor + uint32(peer)*peerFactor + uint32(tag)*tagFactor) >> placeShift
}

// What Place multiplies by, and how many bits it leaves out.
//
//exanet:c PLACE_
const (
	commFactor = 0x9e3779b1
	peerFactor = 0x85ebca6b
	tagFactor  = 0xc2b2ae35
	placeShift = 24
)

// Pop takes the oldest pending receive out of the list, to be posted. ok is false if there is none.
func (t *Table) Pop() (slot int, ok bool) {
	if t.First == 0 {
		return 0, false
	}
	slot = int(t.First - 1)
	s := &t.Slots[slot]
	if t.First = s.Next; t.First == 0 {
		t.Last = 0
	} else {
		t.Slots[t.First-1].Prev = 0
	}
	t.In[s.Place].Pending--
	s.State = Posted
	return slot, true
}

// Release gives a slot back.
func (t *Table) Release(slot int) {
	t.Slots[slot].State = Unused
	t.Slots[slot].Next, t.Free = t.Free, uint32(slot+1)
}

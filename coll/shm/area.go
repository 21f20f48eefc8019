// Package shm is collectives through memory that all ranks of a communicator share: each rank
// publishes its part in a slot of its own, and takes what it wants out of the others' slots. No
// message is sent.
//
//	area.go    the memory: who writes what, and when it may be written again
//	word.go    the words that ranks share
//	wait.go    publishing a round, waiting for others, and waking them
//	call.go    a call from its begin to its end; what the ranks check
//	move.go    calls that move blocks: Bcast, Gather, Alltoallv, ...
//	reduce.go  reductions
//	failure.go calls that do not match
//	view.go    what code in C is told of an area
//
// # Rounds
//
// Every blocking collective of a communicator has a number, which all ranks count alike, since they
// make such calls in the same order. A call has two rounds. In the first every rank publishes what it
// calls, and its part of the data; ranks that make the call by messages publish that they do. A second
// round tells what results from the first: a share of a combined vector, or that a rank has read what
// others have lent it. A call that needs no second round leaves it out: numbers do not depend on what
// a call does, so no mistake of the program makes ranks lose count of each other.
//
// The slots of a call are used again depth calls later. Who publishes call n has ended all calls before
// it. So a slot is free for call n when all ranks have published call n-depth+1.
package shm

import (
	"time"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// The memory of a communicator:
//
//	header
//	lines     one a rank
//	slots     depth times one a rank
//	segments  depth times one a rank: data that do not fit in the slot
//
// Words of a slot and its segment are written by its rank alone.
//
//exanet:c COLLECTIVE_
const (
	depth  = 4
	inSlot = 80 // bytes of data beside the slot's words

	// What a rank sleeps for: line.waiting.
	kindBits = 2
	rankBits = 14
	forOne   = 1 // that a rank has published a round
	forAll   = 2 // that all others have
	forCall  = 3 // a message; it is woken if others make another call

	// What is called: slot.what.
	rootShift = 8
	formShift = 24
	sizeShift = 28

	mixer uint64 = 0x9e3779b97f4a7c15 // see slot.past

	// Where ranks share cores: looks between two yields that would let no awaited rank run. They take as long as
	// other cores need to pass from one rank to the next. Who waits for a root alone yields earlier, since calls
	// with a root take longer otherwise.
	keeps       = 400
	keepsForOne = 100

	// How many waits there are for one that others see to, who know where the ranks run. A yield that has let
	// nobody run counts as vain of them: a sleep would have cost less than that many.
	checkEvery = 64
	vain       = 6
)

const (
	segmentMost = 64 << 10
	pageSize    = 4096

	// MostRanks is how many ranks an area serves.
	MostRanks = 1 << rankBits
)

// header is what belongs to no rank.
//
//exanet:c collective_header
type header struct {
	sleepers word // ranks that sleep
	failed   word // 1 + the rank that has told of calls that do not match, see failure.go
	ended    word // a rank has ended MPI
	_        [104]byte
}

// line is what a rank keeps between calls. Its own code, in Go or C, uses the fields without a word
// type alone.
//
//exanet:c collective_line
type line struct {
	waiting word // what the rank sleeps for: a round, a rank and a kind
	ended   word // 1 + the number of the call before which it has ended MPI

	// Two ranks whose calls do not match, and what they have called.
	who, which [2]word

	call   uint64 // the number of the call under way, or of the next
	posted uint64 // 1: code in C has published the first round of it, and not ended it
	known  uint64 // all ranks have published this call
	past   uint64 // see slot.past
	cut    uint64 // 1: this rank does not take part any more
	world  uint64 // its number in the job
	core   word   // where it ran when it waited last, from 1; 0: it has not
	_      [24]byte
}

// slot is a rank's part of a call.
//
//exanet:c collective_slot
type slot struct {
	round  word // of which the rest is: see round
	what   word // what the rank calls
	past   word // a digest of the calls before
	addr   word // where its data are, if it lends them; 0: here, or in the segment
	length word // of the data
	second word // what the second round tells: ranks that this one could not read from, or noResult
	data   [inSlot]byte
}

// round is the number of the first round of a call, or of the second if that is 1.
func round(call, second uint64) uint64 { return 2*call + 1 + second }

// Area is one rank's view of the memory.
type Area struct {
	Me, Ranks int
	Fenced    bool           // publish with a fence, see emu/host
	Split     int            // bytes of a vector from which each rank combines a share of an Allreduce
	Ring      func(rank int) // wakes a rank that sleeps
	Settle    func()         // a fence for all ranks, unless they publish with one

	// How often a rank looks, or yields, before it calls Await.
	Spins, Yields int
	Yield         func()
	HandOver      time.Duration // what a yield takes at least if another rank runs meanwhile; 0: each does
	Core          func() uint64

	// Read reads the memory of a rank, and reports whether it could.
	Read func(rank int, addr uint64, to []byte) bool

	head     *header
	own      *line
	lines    unsafe.Pointer
	slots    unsafe.Pointer
	segments unsafe.Pointer
	segment  int    // bytes of one
	waits    uint32 // of this rank, where ranks share cores
}

// Fixed is the memory in bytes that an area of so many ranks needs beside the segments.
func Fixed(ranks int) int {
	n := int(unsafe.Sizeof(header{})) + ranks*int(unsafe.Sizeof(line{})+depth*unsafe.Sizeof(slot{}))
	return (n + pageSize - 1) &^ (pageSize - 1)
}

// Open joins the area in memory, which suits most ranks, as rank me of fewer or as many; world is its
// number in the job. All ranks give the same memory and numbers, and Clear has been called before
// unless nobody has used it.
func Open(memory []byte, most, me, ranks, world int) *Area {
	a := &Area{Me: me, Ranks: ranks, head: mem.Struct[header](memory, 0), Settle: func() {}}
	a.lines = unsafe.Add(unsafe.Pointer(a.head), unsafe.Sizeof(header{}))
	a.slots = unsafe.Add(a.lines, uintptr(most)*unsafe.Sizeof(line{}))
	a.segments = unsafe.Add(unsafe.Pointer(a.head), Fixed(most))
	a.segment = min((len(memory)-Fixed(most))/(depth*ranks)&^(mem.CacheLine-1), segmentMost)
	a.own = a.line(me)
	a.own.world = uint64(world)
	return a
}

// Clear makes the memory of an area that nobody has open any more fit to be opened.
func Clear(memory []byte, most int) { clear(memory[:Fixed(most)]) }

// Cut notes that this rank does not take part any more, and IsCut reports it.
func (a *Area) Cut() { a.own.cut = 1 }

// IsCut is described at Cut.
func (a *Area) IsCut() bool { return a.own.cut != 0 }

func (a *Area) line(rank int) *line {
	return (*line)(unsafe.Add(a.lines, uintptr(rank)*unsafe.Sizeof(line{})))
}

func (a *Area) index(call uint64, rank int) int { return int(call%depth)*a.Ranks + rank }

func (a *Area) slot(call uint64, rank int) *slot {
	return (*slot)(unsafe.Add(a.slots, uintptr(a.index(call, rank))*unsafe.Sizeof(slot{})))
}

// place is where n bytes of a rank's data in a call are.
func (a *Area) place(call uint64, rank, n int) []byte {
	if n <= inSlot {
		return a.slot(call, rank).data[:n]
	}
	return unsafe.Slice((*byte)(unsafe.Add(a.segments, a.index(call, rank)*a.segment)), n)
}

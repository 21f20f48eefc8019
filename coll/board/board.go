// Package board is collectives through memory that all ranks of a communicator
// share: each rank posts its part where the others see it, and takes what it
// wants of theirs. No message is sent.
//
//	board.go  the memory: who writes what, and when it may be written again
//	op.go     a collective as a machine that goes on as far as it can
//	parts.go  what each collective posts and takes
//	blocks.go the same where each rank's block has a size of its own
//	direct.go long data, which are read where they are
//	stage.go  or where a copy of them is
//	across.go how they are written for ranks on other cores
//	apart.go  ranks that make a call by messages instead
//
// A collective is a sequence of turns, one for each piece of the data that a
// place has room for. A turn has one number at all ranks, which all count alike,
// since blocking collectives are made in the same order everywhere. The places of
// a turn are used again slots turns later.
//
// The package knows nothing of how a rank waits, and of who shares the memory: an
// Op that can not go on tells the word that it waits for. All state that outlives a
// call is in the shared memory, in plain words, so that other code than this can
// take part.
package board

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// The memory of a communicator:
//
//	header
//	lines    one a rank
//	cells    slots times one a rank: what is posted in a turn
//	gauges   of what ranks read, of up to mostMeasuring, see across.go
//	pieces   slots times one a rank: what does not fit in a cell
//
// A cell, and its piece, has one writer in each turn: its rank, or the root of a
// Scatter. Its number is stored last, with release order, so a cell whose number
// is that of the turn is whole. The next to write it, slots turns later, must know
// that all ranks have done with the turn: each tells so in its line.
const (
	slots = 8
	ahead = 4 // turns of a call that a rank posts before it has taken the first

	cellSize  = 128
	inCell    = cellSize - 16
	leastStep = 64
	pieceMost = 32 << 10
	pageSize  = 4096
)

type header struct {
	users    atomic.Uint32 // ranks that have the board open
	sleepers atomic.Uint32 // ranks that sleep until a word of it changes
	broken   atomic.Uint32 // the ranks count turns differently
	apart    atomic.Int32  // ranks that wait in calls by messages: while there is none nobody looks at all lines
	ended    atomic.Uint32 // a rank has ended MPI
	_        [cellSize - 20]byte
}

// line is what a rank writes beside its cells.
type line struct {
	turns   atomic.Uint64 // this rank has done with the turns below
	waiting atomic.Uint64 // what it sleeps for, see wholeTurn
	core    atomic.Uint64 // where it runs, see Core; of the call under way, while it has posted; 0 in one of the twin
	tends   uint64        // the core whose sleepers this rank wakes while it is awake in a call of the twin, 0: none
	world   uint64        // the rank's number in the job, see View
	known   uint64        // all ranks have done with the turns below, as far as this one knows
	posted  uint64        // 1 + the turn that the twin in C has posted and not ended, see View
	cut     uint64        // this rank does not take part any more
	gave    uint64        // 1: in the call before rank 0 gave to all, see Follows
	left    uint64        // 1 + the turn that the twin in C has left, but that another may still read in
	past    uint64        // the turns of the call under way that the twin in C has done with
	staged  [2]uint64     // 1 + the last turn in which this rank has lent what is on each of its stages; of two ranks, on its stage, and so that all was there or on the belt
	seeks   uint64        // what it looks for in the twin while it yields, see wholeTurn
	visit   int64         // when a call that waits goes on in Go next, by the twin's clock
	apart   atomic.Uint64 // calls by messages, see apart.go

	// The turns, in the upper halves, in which this rank could not read from those whose bits
	// are set. Who lent them looks when this rank may be slots turns ahead.
	missed [2 * slots]atomic.Uint64
}

type cell struct {
	turn uint64 // its number + 1
	call uint64 // what is called, and of what size: see call
	data [inCell]byte
}

// Board is one rank's view of the memory.
type Board struct {
	Me, Ranks int
	Fenced    bool           // post with a full fence, see emu/host
	Central   uint32         // bits of those of Barrier and Allreduce that go through rank 0, see form
	Follows   bool           // so does a Barrier behind a Bcast or Scatter(v) of rank 0, which so leaves first and gives again
	Dear      bool           // Read takes long: of 2 ranks, blocks as long as a piece have a turn, see Most
	Split     int            // the size in bytes from which each rank combines a part of the vector
	Ring      func(rank int) // wakes a rank of the board that sleeps

	// Read reads the memory of a rank of the board, and reports whether it could. nil: there
	// is no such thing, and the board serves no calls in the direct form.
	Read func(rank int, addr uint64, to []byte) bool

	// Fill, unless nil, gives memory its pages at once. Fills, which is for two ranks with stages, has the first call do so with both
	// belts, as is worth while if many follow: else they get it as they are used.
	Fill  func(memory []byte)
	Fills bool

	// Core, unless nil or 0, is the core that this rank runs on, where those who sleep can
	// do so only for others on the same: whoever of these is awake in Go wakes them, as it
	// leaves the turn, which takes less than from another core.
	Core func() uint32

	head   *header
	own    *line
	base   unsafe.Pointer
	lines  unsafe.Pointer
	cells  unsafe.Pointer
	cores  unsafe.Pointer // an uint32 for each rank: where it runs, which the twin tells; 0: not known
	gauges unsafe.Pointer
	pieces unsafe.Pointer
	piece  int    // bytes of one
	stages []byte // see Stage
}

const (
	lineSize = int(unsafe.Sizeof(line{}))
	coreSize = 4
)

// Fixed is the memory in bytes that a board of so many ranks needs beside the
// pieces.
func Fixed(ranks int) int {
	n := beforeGauges(ranks) + gaugesSize
	return (n + pageSize - 1) &^ (pageSize - 1)
}

func beforeGauges(ranks int) int {
	n := int(unsafe.Sizeof(header{})) + ranks*(lineSize+slots*cellSize+coreSize)
	return (n + mem.CacheLine - 1) &^ (mem.CacheLine - 1)
}

// Open joins the board in memory, which suits most ranks, as rank me of fewer or as
// many. All ranks give the same memory and numbers; Clear has been called before.
func Open(memory []byte, most, me, ranks int) *Board {
	b := &Board{Me: me, Ranks: ranks, Split: SplitFrom(ranks, false), head: mem.Struct[header](memory, 0), base: unsafe.Pointer(&memory[0])}
	b.lines = unsafe.Add(b.base, unsafe.Sizeof(header{}))
	b.cells = unsafe.Add(b.lines, most*lineSize)
	b.cores = unsafe.Add(b.cells, most*slots*cellSize)
	if ranks <= mostMeasuring {
		b.gauges = unsafe.Add(b.base, beforeGauges(most))
	}
	b.pieces = unsafe.Add(b.base, Fixed(most))
	b.piece = min((len(memory)-Fixed(most))/(slots*ranks)&^(leastStep-1), pieceMost)
	b.own = b.line(me)
	b.head.users.Add(1)
	return b
}

// Moor tells this rank's number in the job, by which the twin finds its bell.
func (b *Board) Moor(rank int) { b.own.world = uint64(rank) }

// Close leaves the board.
func (b *Board) Close() { b.head.users.Add(^uint32(0)) }

// Clear makes the memory of a board that nobody has open fit to be opened, and
// reports whether it has: false if a rank has it open still.
func Clear(memory []byte, most int) bool {
	if mem.Struct[header](memory, 0).users.Load() > 0 {
		return false
	}
	clear(memory[:Fixed(most)])
	return true
}

func (b *Board) line(rank int) *line { return (*line)(unsafe.Add(b.lines, rank*lineSize)) }

func (b *Board) cell(turn uint64, rank int) *cell {
	return (*cell)(unsafe.Add(b.cells, (int(turn%slots)*b.Ranks+rank)*cellSize))
}

// place is where n bytes of a rank's cell in a turn are.
func (b *Board) place(turn uint64, rank, n int) []byte {
	if n <= inCell {
		return b.cell(turn, rank).data[:n]
	}
	return unsafe.Slice((*byte)(unsafe.Add(b.pieces, (int(turn%slots)*b.Ranks+rank)*b.piece)), n)
}

// Words are the words of the board that a rank waits for.
type Words struct {
	mem.Words

	b      *Board
	first  uint64 // turn of the call that waits
	rank   int    // whose word it is, if it is one
	signal uint64 // what the rank's line tells while it sleeps
}

// Rank is a rank that is waited for.
func (w *Words) Rank() int {
	if w.signal&(wholeTurn|allDone) != 0 {
		return min(w.b.Ranks-w.N, w.b.Ranks-1)
	}
	return w.rank
}

// A line tells what its rank sleeps for as a word, by its offset, or as all cells of a
// turn that others post, or that all have done with a turn: so that who posts one, or has
// done with it, need not wake it for each.
const (
	wholeTurn = 1 << 63
	allDone   = 1 << 62
	inTwin    = 1 << 61 // added by who sleeps in the twin
)

// Sleep announces that this rank is about to sleep until the words come, and Wake
// that it does not any more. Between Sleep and the last look at the words there must
// be a fence for all ranks, unless they post with one. Sleep reports false if they
// may never come, as Strayed tells.
func (w *Words) Sleep() bool {
	w.b.own.waiting.Store(w.signal)
	w.b.head.sleepers.Add(1)
	return w.b.strayed(w.first) < 0
}

// Wake is the end of Sleep.
func (w *Words) Wake() {
	w.b.head.sleepers.Add(^uint32(0))
	w.b.own.waiting.Store(0)
}

// word is one word as Words.
func (b *Board) word(word *uint64, least uint64, rank int) Words {
	return Words{Words: mem.Words{First: word, N: 1, Skip: -1, Least: least}, b: b, rank: rank, signal: b.offset(word)}
}

func (b *Board) offset(word *uint64) uint64 {
	return uint64(uintptr(unsafe.Pointer(word)) - uintptr(b.base))
}

// store publishes a word, and wakes who sleeps for it.
func (b *Board) store(word *uint64, v uint64) {
	if b.Fenced {
		atomic.StoreUint64(word, v)
	} else {
		mem.Publish(word, v)
	}
	if b.head.sleepers.Load() > 0 {
		b.wake(word, v)
	}
}

// wake wakes who sleeps for a word that this rank has set to v, unless more is
// missing: then the last who posts wakes him.
func (b *Board) wake(word *uint64, v uint64) {
	b.head.sleepers.Add(0) // a fence: of two who post the last cells at once, one sees both
	at := b.offset(word)
	posted := at >= uint64(uintptr(b.cells)-uintptr(b.base))
	for i := range b.Ranks {
		if i == b.Me {
			continue
		}
		waiting := b.line(i).waiting.Load()
		switch what := waiting &^ inTwin; {
		case what == at:
			b.Ring(i)
		case posted && what == wholeTurn|v && !b.near(i, v-1):
			b.rouse(i, waiting, b.others(v-1, 0, i))
		case !posted && what == allDone|v:
			b.rouse(i, waiting, b.finished(v-1, 0, i))
		}
	}
}

// rouse wakes a rank that sleeps for words of all others, if they are there.
func (b *Board) rouse(rank int, waiting uint64, w Words) {
	if w.There() && b.line(rank).waiting.CompareAndSwap(waiting, 0) {
		b.Ring(rank)
	}
}

// near reports whether a rank on the same core as one that sleeps is awake, in Go, and has not
// left the turn yet, so that it will wake him.
func (b *Board) near(rank int, turn uint64) bool {
	core := b.line(rank).core.Load()
	for i := range b.Ranks {
		if l := b.line(i); core != 0 && i != rank && i != b.Me && l.core.Load() == core && l.waiting.Load() == 0 && l.turns.Load() <= turn {
			return true
		}
	}
	return false
}

// leave is done, and wakes who sleeps on the same core for all cells of the turn that has
// ended.
func (b *Board) leave(turn uint64) {
	b.done(turn + 1)
	core := b.own.core.Load()
	if core == 0 || b.head.sleepers.Load() == 0 {
		return
	}
	b.head.sleepers.Add(0) // a fence: who posts the last cell sees that this rank is gone, or this rank that cell
	for i := range b.Ranks {
		l := b.line(i)
		if waiting := l.waiting.Load(); i != b.Me && l.core.Load() == core && waiting&^inTwin == wholeTurn|(turn+1) {
			b.rouse(i, waiting, b.others(turn, 0, i))
		}
	}
}

// post publishes this rank's cell of a turn, or that of the rank that the root of a
// Scatter has filled in.
func (b *Board) post(turn uint64, rank int, call uint64) {
	c := b.cell(turn, rank)
	c.call = call
	b.store(&c.turn, turn+1)
}

// posted is the word that tells so, and others those of all ranks but one, from a
// rank on.
func (b *Board) posted(turn uint64, rank int) Words {
	return b.word(&b.cell(turn, rank).turn, turn+1, rank)
}

func (b *Board) others(turn uint64, from, but int) Words {
	return Words{
		Words: mem.Words{First: &b.cell(turn, from).turn, Stride: cellSize, N: b.Ranks - from, Skip: but - from, Least: turn + 1},
		b:     b, signal: wholeTurn | (turn + 1),
	}
}

// finished are the words that tell that all ranks but one, from a rank on, have done with
// a turn.
func (b *Board) finished(turn uint64, from, but int) Words {
	return Words{
		Words: mem.Words{First: (*uint64)(unsafe.Pointer(&b.line(from).turns)), Stride: lineSize, N: b.Ranks - from, Skip: but - from, Least: turn + 1},
		b:     b, signal: allDone | (turn + 1),
	}
}

// done tells that this rank has done with all turns below.
func (b *Board) done(below uint64) {
	b.store((*uint64)(unsafe.Pointer(&b.own.turns)), below)
}

// free reports whether the cells of a turn may be written, and which word to wait
// for otherwise.
func (b *Board) free(turn uint64, w *Words) bool {
	if turn < b.own.known+slots {
		return true
	}
	known := ^uint64(0)
	for i := range b.Ranks {
		l := b.line(i)
		if n := l.turns.Load(); n < known {
			known = n
			*w = b.word((*uint64)(unsafe.Pointer(&l.turns)), turn+1-slots, i)
		}
	}
	b.own.known = known
	return turn < known+slots
}

// learn notes that all ranks have done with the turns below.
func (b *Board) learn(below uint64) {
	if b.own.known < below {
		b.own.known = below
	}
}

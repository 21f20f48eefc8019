// Package board is collectives through memory that all ranks of a communicator
// share: each rank posts its part where the others see it, and takes what it
// wants of theirs. No message is sent.
//
//	board.go  the memory: who writes what, and when it may be written again
//	op.go     a collective as a machine that goes on as far as it can
//	parts.go  what each collective posts and takes
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
	_        [cellSize - 12]byte
}

// line is what a rank writes beside its cells.
type line struct {
	turns   atomic.Uint64 // this rank has done with the turns below
	waiting atomic.Uint64 // the word that it sleeps for, as its offset in the memory
	known   uint64        // all ranks have done with the turns below, as far as this one knows
	posted  uint64        // 1 + the turn that the twin in C has posted and not ended, see View
	cut     uint64        // this rank does not take part any more
	_       [cellSize - 40]byte
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
	Central   bool           // what all ranks take goes through rank 0, see form
	Ring      func(rank int) // wakes a rank of the board that sleeps

	head   *header
	own    *line
	base   unsafe.Pointer
	lines  unsafe.Pointer
	cells  unsafe.Pointer
	pieces unsafe.Pointer
	piece  int // bytes of one
}

const lineSize = int(unsafe.Sizeof(line{}))

// Fixed is the memory in bytes that a board of so many ranks needs beside the
// pieces.
func Fixed(ranks int) int {
	n := int(unsafe.Sizeof(header{})) + ranks*(lineSize+slots*cellSize)
	return (n + pageSize - 1) &^ (pageSize - 1)
}

// Open joins the board in memory, which suits most ranks, as rank me of fewer or as
// many. All ranks give the same memory and numbers; Clear has been called before.
func Open(memory []byte, most, me, ranks int) *Board {
	b := &Board{Me: me, Ranks: ranks, head: mem.Struct[header](memory, 0), base: unsafe.Pointer(&memory[0])}
	b.lines = unsafe.Add(b.base, unsafe.Sizeof(header{}))
	b.cells = unsafe.Add(b.lines, most*lineSize)
	b.pieces = unsafe.Add(b.base, Fixed(most))
	b.piece = min((len(memory)-Fixed(most))/(slots*ranks)&^(leastStep-1), pieceMost)
	b.own = b.line(me)
	b.head.users.Add(1)
	return b
}

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

// Word is a word of the board that a rank waits for: until it is at least Least.
type Word struct {
	b     *Board
	word  *uint64
	Least uint64
	Rank  int // whose word it is
}

// Place is where the word is.
func (w *Word) Place() *uint64 { return w.word }

// There reports whether the word has come.
func (w *Word) There() bool { return atomic.LoadUint64(w.word) >= w.Least }

// Sleep announces that this rank is about to sleep until the word comes, and Wake
// that it does not any more. Between Sleep and the last look at the word there must
// be a fence for all ranks, unless they post with one.
func (w *Word) Sleep() {
	w.b.own.waiting.Store(w.b.offset(w.word))
	w.b.head.sleepers.Add(1)
}

// Wake is the end of Sleep.
func (w *Word) Wake() {
	w.b.head.sleepers.Add(^uint32(0))
	w.b.own.waiting.Store(0)
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
		b.wake(word)
	}
}

func (b *Board) wake(word *uint64) {
	at := b.offset(word)
	for i := range b.Ranks {
		if i != b.Me && b.line(i).waiting.Load() == at {
			b.Ring(i)
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

// posted is the word that tells so.
func (b *Board) posted(turn uint64, rank int) Word {
	return Word{b: b, word: &b.cell(turn, rank).turn, Least: turn + 1, Rank: rank}
}

// done tells that this rank has done with all turns below.
func (b *Board) done(below uint64) {
	b.store((*uint64)(unsafe.Pointer(&b.own.turns)), below)
}

// free reports whether the cells of a turn may be written, and which word to wait
// for otherwise.
func (b *Board) free(turn uint64, w *Word) bool {
	if turn < b.own.known+slots {
		return true
	}
	known := ^uint64(0)
	for i := range b.Ranks {
		l := b.line(i)
		if n := l.turns.Load(); n < known {
			known = n
			*w = Word{b: b, word: (*uint64)(unsafe.Pointer(&l.turns)), Least: turn + 1 - slots, Rank: i}
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

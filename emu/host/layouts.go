package host

import (
	"math/bits"
	"slices"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// How a layout gets to those who write. A window names it by a number that its
// rank never uses again. The rank keeps a table of its latest layouts, whose
// address its control block tells; a writer that meets a number for the first time
// reads the entry and the encoded layout out of the other process, and remembers
// it. An entry that has been overwritten meanwhile is recognised by its number and
// sum. Then, as whenever the layout cannot be had, the data go through the ring and
// the receiving side, which knows the layout, puts them in their places: nothing
// depends on a layout's arriving.
//
// Between ranks of one process the number is the address of the type, which the
// exposed slot holds.
const (
	layoutContiguous = 0
	layoutUnknown    = 1  // has gaps, but is better not written directly
	layoutFirst      = 16 // the first number of a layout
	layoutSlots      = 256
	layoutWords      = 64 << 10 // a larger layout has no number
	layoutsKnown     = 1024     // of others, and types that have numbers
)

// layoutEntry is a place in the table that others read.
type layoutEntry struct {
	number uint64
	addr   uint64
	words  uint64
	sum    uint64
}

const entryWords = 4

type layouts struct {
	table   []layoutEntry // number i is at i modulo its length
	encoded [][]uint64    // what the entries point to
	next    uint64
	numbers map[*datatype.Type]uint64
	bySum   map[uint64]uint64 // number of an encoded layout
	known   map[layoutKey]*datatype.Type
}

type layoutKey struct {
	rank   int
	number uint64
}

// nameLayout returns what a window says of the layout of a view.
func (f *Fabric) nameLayout(v datatype.View) uint64 {
	switch {
	case f.job.localRings != nil:
		return mem.Ref(v.Type)
	case v.Size() <= directLeast || v.Size() < directBlock*v.Blocks():
		return layoutUnknown
	}
	l := &f.layouts
	if l.table == nil {
		l.table, l.encoded, l.next = make([]layoutEntry, layoutSlots), make([][]uint64, layoutSlots), layoutFirst
		l.numbers, l.bySum = make(map[*datatype.Type]uint64), make(map[uint64]uint64)
		f.self.layouts.Store(mem.Ref(&l.table[0]))
	}
	return l.number(v.Type)
}

// number returns the number of a type's layout. Equal layouts have the same, so
// that programs may make their types again and again.
func (l *layouts) number(t *datatype.Type) uint64 {
	if n, ok := l.numbers[t]; ok && (n == layoutUnknown || l.table[n%layoutSlots].number == n) {
		return n
	}
	if len(l.numbers) >= layoutsKnown {
		clear(l.numbers)
	}
	words, ok := t.Encode(nil, layoutWords)
	if !ok {
		l.numbers[t] = layoutUnknown
		return layoutUnknown
	}
	sum := sumOf(words)
	if n, ok := l.bySum[sum]; ok && slices.Equal(l.encoded[n%layoutSlots], words) {
		l.numbers[t] = n
		return n
	}
	n := l.next
	l.next++
	e := &l.table[n%layoutSlots]
	if l.bySum[e.sum] == e.number {
		delete(l.bySum, e.sum)
	}
	l.encoded[n%layoutSlots] = words
	*e = layoutEntry{number: n, addr: mem.Ref(&words[0]), words: uint64(len(words)), sum: sum}
	l.bySum[sum], l.numbers[t] = n, n
	return n
}

// layoutOf returns a layout of another rank by its number, nil if it cannot be
// had.
func (f *Fabric) layoutOf(rank int, number uint64) *datatype.Type {
	key := layoutKey{rank, number}
	l := &f.layouts
	if t := l.known[key]; t != nil {
		return t
	}
	words := f.readLayout(rank, number)
	if words == nil {
		return nil
	}
	t, err := datatype.Decode(words)
	if err != nil || t.Size() == 0 {
		return nil
	}
	if l.known == nil || len(l.known) >= layoutsKnown {
		l.known = make(map[layoutKey]*datatype.Type)
	}
	l.known[key] = t
	return t
}

func (f *Fabric) readLayout(rank int, number uint64) []uint64 {
	c := f.job.control(rank)
	table, pid := c.layouts.Load(), int(c.pid.Load())
	if table == 0 {
		return nil
	}
	at := table + number%layoutSlots*entryWords*8
	e := make([]uint64, entryWords)
	if !readWords(pid, at, e) {
		return nil
	}
	entry := *mem.Struct[layoutEntry](mem.Bytes(e), 0)
	if entry.number != number || entry.words == 0 || entry.words > layoutWords {
		return nil
	}
	words := make([]uint64, entry.words)
	if !readWords(pid, entry.addr, words) || sumOf(words) != entry.sum {
		return nil
	}
	return words
}

// readWords reads memory of another process, or of this one.
func readWords(pid int, addr uint64, words []uint64) bool {
	n, err := sys.VMRead(pid, addr, mem.Bytes(words))
	return err == nil && n == 8*len(words)
}

// sumOf is a checksum of an encoded layout.
func sumOf(words []uint64) (sum uint64) {
	for _, w := range words {
		hi, lo := bits.Mul64(sum^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		sum = hi ^ lo + sum<<1
	}
	return sum
}

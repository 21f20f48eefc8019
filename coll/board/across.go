package board

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Two ranks measure how what the one writes is soonest with the other, see package across. Of more, up to mostMeasuring, each does so for
// what it reads of each. Some may be on one core and others not, and several read the same: so who writes asks one that is on another core, the next
// of those that are to read it. Who is on the same core finds in its cache what is hot, and gets blocks of its own in that form.
// From leastOfMany bytes on: what is shorter a writer leaves to its store buffer, where to go around the caches it has to wait.
const (
	measuring     = 2
	mostMeasuring = 8
	leastOfMany   = 4 << 10
)

// kind is what a gauge is for: what is copied, what is combined as it is read, and what is lent, which among more than two ranks counts as copied.
type kind int

const (
	copies kind = iota
	folds
	loans
	kinds
)

const gaugesSize = max(measuring*(int(kinds)*across.Size+int(unsafe.Sizeof(belt{}))), mostMeasuring*mostMeasuring*2*across.Size)

// gauge is that of what one of two ranks reads.
func (b *Board) gauge(reader int, k kind) *across.Gauge {
	return (*across.Gauge)(unsafe.Add(b.gauges, (reader*int(kinds)+int(k))*across.Size))
}

// between is that of what one of more ranks reads of another.
func (b *Board) between(reader, writer int, k kind) *across.Gauge {
	i := 2 * (reader*b.Ranks + writer)
	if k == folds {
		i++
	}
	return (*across.Gauge)(unsafe.Add(b.gauges, i*across.Size))
}

// belt is how far a rank has come with its belt, which lies behind its stage. Only that rank writes to either.
type belt struct {
	at     uint64               // where the next cold copy goes
	last   [portions - 1]uint64 // 1 + the turn in which each part has been used last
	filled uint64               // up to where it has its memory
	_      [7]uint64
}

// What a rank of two has of the stages has so many parts: the stage and those of the belt, which gets so much memory at a time.
const (
	portions = 1 + across.Belt/across.Stage
	filled   = 128 << 10
)

func (b *Board) portion() uint64 {
	return uint64(len(b.stages)/b.Ranks/portions) &^ (mem.CacheLine - 1)
}

func (b *Board) belt() *belt {
	return (*belt)(unsafe.Add(b.gauges, measuring*int(kinds)*across.Size+b.Me*int(unsafe.Sizeof(belt{}))))
}

// onBelt is what a rank has on its belt from an offset on.
func (b *Board) onBelt(rank int, at uint64, n int) []byte {
	return b.stages[uint64(rank*(len(b.stages)/b.Ranks))+b.portion()+at:][:n]
}

// fillBelts gives this rank's belt its memory, which it else gets as it is used, and this rank its view of the other's,
// unless the twin has.
func (b *Board) fillBelts() {
	if b.Fills = false; b.belt().filled > 0 {
		return
	}
	all := b.portion() * (portions - 1)
	if b.fill(all); b.Fill != nil {
		b.Fill(b.onBelt(1-b.Me, 0, int(all)))
	}
}

// fill gives the belt more memory: to touch the pages one by one takes longer.
func (b *Board) fill(more uint64) {
	own := b.belt()
	if b.Fill != nil {
		b.Fill(b.onBelt(b.Me, own.filled, int(more)))
	}
	own.filled += more
}

// takeBelt takes room for n bytes, where the other rank has read what was there before; it returns 1 + where it begins, or 0.
func (b *Board) takeBelt(turn uint64, n int) uint64 {
	own := b.belt()
	size := uint64(n+mem.CacheLine-1) &^ (mem.CacheLine - 1)
	part := b.portion()
	length := part * (portions - 1)
	at := own.at
	if at+size > length {
		at = 0
	}
	if size == 0 || size > length {
		return 0
	}
	if at+size > own.filled {
		b.fill(min(filled, length-own.filled))
	}
	read := b.line(1 - b.Me).turns.Load()
	for i := (at + part - 1) / part; i*part < at+size; i++ {
		if read < own.last[i] {
			return 0
		}
	}
	for i := at / part; i*part < at+size; i++ {
		own.last[i] = turn + 1
	}
	own.at = at + size
	return at + 1
}

// told is what is told of what is in a place, if that is measured, or of what is lent; where is where that is: 0: in its place, or on the
// stage; else 1 + where it begins on the belt. Of more than two ranks it is 1 + who it is told, 0: nobody.
func (b *Board) told(at uint64, rank int) *across.Told {
	return (*across.Told)(unsafe.Pointer(&b.cell(at, rank).data[inCell-8]))
}

func (b *Board) where(at uint64, rank int) *uint64 {
	return (*uint64)(unsafe.Pointer(&b.cell(at, rank).data[inCell-16]))
}

// measures reports whether it is measured how data of n bytes are written.
func (b *Board) measures(n int) bool {
	if b.Ranks != measuring {
		return b.gauges != nil && n >= leastOfMany
	}
	return n >= across.Least
}

// forms are those in which what is copied may be written.
func (b *Board) forms() across.Forms {
	if b.Ranks != measuring || b.stages == nil {
		return across.Copied
	}
	return across.Roomy
}

// all instead of a rank are all others.
const all = -1

// elsewhere reports whether one of more than two ranks is on another core than this one, as far as they tell.
func (b *Board) elsewhere(rank int) bool {
	core := func(rank int) uint32 { return atomic.LoadUint32((*uint32)(unsafe.Add(b.cores, rank*coreSize))) }
	own := core(b.Me)
	return own == 0 || core(rank) != own
}

// asked is who of those that data are for, a rank or all, is asked how to write n bytes, and how; -1 if nobody is.
func (b *Board) asked(who int, k kind, n int) (reader int, way across.Way) {
	for d := 1; d < b.Ranks && b.measures(n); d++ {
		i := (b.Me + d) % b.Ranks
		if (who == all || who == i) && b.elsewhere(i) {
			return i, b.between(i, b.Me, k).Way(n, across.Copied)
		}
	}
	return -1, across.Way{}
}

// tell tells one of more than two ranks of what is in a cell.
func (b *Board) tell(at uint64, rank, reader int, what across.Told) {
	*b.where(at, rank), *b.told(at, rank) = 0, what
	if what != 0 {
		*b.where(at, rank) = uint64(1 + reader)
	}
}

// put writes data, which belong to a rank's cell of a turn, for a rank or all.
func (b *Board) put(at uint64, rank, who int, k kind, place, data []byte) {
	n := min(len(place), len(data))
	if !b.measures(n) {
		mem.Across(place, data)
		return
	}
	if b.Ranks != measuring {
		reader, way := b.asked(who, k, n)
		b.tell(at, rank, reader, way.Write(place, data))
		return
	}
	way, on := b.gauge(1-b.Me, k).Way(n, b.forms()), uint64(0)
	if way.Form == across.Cold {
		if on = b.takeBelt(at, n); on > 0 {
			place = b.onBelt(b.Me, on-1, n)
		}
	}
	*b.where(at, rank) = on
	*b.told(at, rank) = way.Write(place, data)
}

// putBlocks writes what each of more than two ranks is to read in this rank's cell of a turn: blocks of n bytes, or none longer, each in a place of its own.
func (b *Board) putBlocks(at uint64, k kind, n int, block func(rank int) (place, data []byte)) {
	reader, way := b.asked(all, k, n)
	for i := range b.Ranks {
		switch place, data := block(i); {
		case i == b.Me:
		case i == reader:
			b.tell(at, b.Me, reader, way.Write(place, data))
		case way.Form != across.Hot && b.elsewhere(i):
			across.Way{Form: way.Form}.Write(place, data)
		default:
			mem.Across(place, data)
		}
	}
	if reader < 0 && b.measures(n) {
		b.tell(at, b.Me, 0, 0)
	}
}

// putAll is put for data that are more than what others take of them.
func (b *Board) putAll(at uint64, rank int, place, data []byte) {
	if mem.Across(place, data); b.measures(len(data)) {
		*b.where(at, rank), *b.told(at, rank) = 0, 0
	}
}

// written is where data are that a rank has put into a rank's cell, or their place.
func (b *Board) written(by int, at uint64, rank int, place []byte) []byte {
	if b.Ranks == measuring && b.measures(len(place)) {
		if on := *b.where(at, rank); on > 0 {
			return b.onBelt(by, on-1, len(place))
		}
	}
	return place
}

// begin is called before n bytes of a rank's cell are read, and end, with who has written them, when they have been.
func (b *Board) begin(at uint64, rank, n int) (t across.Told, began uint64) {
	if b.measures(n) && (b.Ranks == measuring || *b.where(at, rank) == uint64(1+b.Me)) {
		t = *b.told(at, rank)
	}
	return t, t.Began()
}

func (b *Board) end(k kind, by int, t across.Told, began uint64) {
	if t == 0 {
		return
	}
	gauge, forms := b.gauge(b.Me, k), b.forms()
	switch {
	case b.Ranks != measuring:
		gauge = b.between(b.Me, by, k)
	case k == loans:
		forms = across.OrLent
	}
	gauge.Ended(t, began, forms)
}

// get copies data that a rank has put into a rank's cell of a turn.
func (b *Board) get(at uint64, rank, by int, to, place []byte) {
	n := min(len(to), len(place))
	t, began := b.begin(at, rank, n)
	mem.Across(to, b.written(by, at, rank, place[:n]))
	b.end(copies, by, t, began)
}

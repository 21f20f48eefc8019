package board

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Two ranks measure how what the one writes is soonest with the other, see package across. Of more, some may be on one core and others not,
// and all read the same.
const measuring = 2

// kind is what a gauge is for: what is copied, what is combined as it is read, and what is lent.
type kind int

const (
	copies kind = iota
	folds
	loans
	kinds
)

const gaugesSize = measuring * (int(kinds)*across.Size + int(unsafe.Sizeof(belt{})))

// gauge is that of what a rank reads.
func (b *Board) gauge(reader int, k kind) *across.Gauge {
	return (*across.Gauge)(unsafe.Add(b.gauges, (reader*int(kinds)+int(k))*across.Size))
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

// Prepare gives this rank's belt its memory, which it else gets as it is used, and this rank its view of the other's.
func (b *Board) Prepare() {
	if b.gauges == nil || b.stages == nil {
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

// told is what is told of what is in a place, of across.Least bytes or more, or of what is lent; where is where that is: 0: in its place, or on the
// stage; else 1 + where it begins on the belt.
func (b *Board) told(at uint64, rank int) *across.Told {
	return (*across.Told)(unsafe.Pointer(&b.cell(at, rank).data[inCell-8]))
}

func (b *Board) where(at uint64, rank int) *uint64 {
	return (*uint64)(unsafe.Pointer(&b.cell(at, rank).data[inCell-16]))
}

func (b *Board) measures(n int) bool { return b.gauges != nil && n >= across.Least }

// forms are those in which what is copied may be written.
func (b *Board) forms() across.Forms {
	if b.stages == nil {
		return across.Copied
	}
	return across.Roomy
}

// put writes data, which belong to a rank's cell of a turn, for the other of two ranks, or all.
func (b *Board) put(at uint64, rank int, k kind, place, data []byte) {
	n := min(len(place), len(data))
	if !b.measures(n) {
		mem.Across(place, data)
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

// putAll is put for data that are more than what others take of them.
func (b *Board) putAll(at uint64, rank int, place, data []byte) {
	if mem.Across(place, data); b.measures(len(data)) {
		*b.where(at, rank), *b.told(at, rank) = 0, 0
	}
}

// written is where data are that a rank has put into a rank's cell, or their place.
func (b *Board) written(by int, at uint64, rank int, place []byte) []byte {
	if b.measures(len(place)) {
		if on := *b.where(at, rank); on > 0 {
			return b.onBelt(by, on-1, len(place))
		}
	}
	return place
}

// begin is called before n bytes of a rank's cell are read, and end when they have been.
func (b *Board) begin(at uint64, rank, n int) (t across.Told, began uint64) {
	if b.measures(n) {
		t = *b.told(at, rank)
	}
	return t, t.Began()
}

func (b *Board) end(k kind, t across.Told, began uint64) {
	if t == 0 {
		return
	}
	forms := b.forms()
	if k == loans {
		forms = across.OrLent
	}
	b.gauge(b.Me, k).Ended(t, began, forms)
}

// get copies data that belong to a rank's cell of a turn.
func (b *Board) get(at uint64, rank int, to, place []byte) {
	n := min(len(to), len(place))
	t, began := b.begin(at, rank, n)
	mem.Across(to, b.written(1-b.Me, at, rank, place[:n]))
	b.end(copies, t, began)
}

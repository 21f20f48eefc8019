package board

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// View is a board as the twin in C sees it (internal/boardc): struct board. The twin
// makes calls of one turn in the plain form, or of two in the central one; the rest is
// left to Go, which takes over calls that have to wait for long, with this rank's part
// posted.
type View struct {
	ID                              uint64 // 0: there is none
	head, own, lines, cells, pieces uint64
	piece, me, ranks, fenced        uint32
	central, Spins, Yields, split   uint32
	Limit                           [coll.Collectives]uint64 // a call of fewer bytes is one of the board's
}

// View fills in what the twin needs of a board, but for the limits and the ID, which
// comes last.
func (b *Board) View(v *View) {
	*v = View{
		head: mem.Ref(b.head), own: mem.Ref(b.own), lines: mem.AddrOf(b.lines), cells: mem.AddrOf(b.cells), pieces: mem.AddrOf(b.pieces),
		piece: uint32(b.piece), me: uint32(b.Me), ranks: uint32(b.Ranks), fenced: flag(b.Fenced), central: b.Central, split: uint32(b.Split),
	}
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Wake wakes who sleeps for the word at an address that the twin has stored.
func (b *Board) Wake(word uint64) {
	w := mem.Deref[uint64](word)
	b.wake(w, *w)
}

// Cut notes that this rank does not take part any more, or does again.
func (b *Board) Cut(cut bool) { b.own.cut = uint64(flag(cut)) }

// IsCut reports whether it has been cut.
func (b *Board) IsCut() bool { return b.own.cut != 0 }

package board

import (
	"math"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// View is a board as the twin in C sees it (internal/boardc): struct board. The twin
// makes calls of one turn in the plain form or the direct one, of two in the central one, and a plain Bcast; the
// rest is left to Go, which takes over calls that have to wait for long, with this rank's part
// posted, or with the turn left while others may still read from it.
type View struct {
	ID                                     uint64 // 0: there is none
	head, own, lines, cells, cores, pieces uint64
	piece, me, ranks, fenced               uint32
	central, Spins, Yields, split          uint32
	Berths
	follows uint32
	Naps    uint32                   // the ms for which who waits sleeps at most where another rank needs its core, before the call goes on in Go; 0: he does not
	Pids    uint64                   // address of an int32 for each rank: its process if its memory can be read, else 0; 0: none can
	most    [2]uint32                // of Gatherv and Scatterv, and of Alltoallv: see Board.Most
	Outside uint64                   // address of a count, 0: none; where it is not 0, Go makes progress while it waits
	Limit   [coll.Collectives]uint64 // a call of fewer bytes is one of the board's
	Pair    [coll.Collectives]uint64 // one of so many is a message between the two ranks, see coll.Selection.OneMessageFrom
	Direct  [coll.Collectives]uint64 // one of so many is in the direct form, see coll.Selection.DirectFrom
	_       [2]uint32                // of the twin alone
	fills   uint64                   // 1: see Board.Fills
	stages  uint64                   // address of the stages, and the bytes of one, or two, that each rank has; 0: none
	stage   uint64
	gauges  uint64 // of up to mostMeasuring ranks, 0: of more
}

// Berths are where the ranks of a job have their bells, see emu/host: the addresses of the
// first rank's and this rank's, the bytes from one to the next, how many there are, and how many
// of them a core has at most if they are spread evenly.
type Berths struct {
	First, Own       uint64
	Step, N, PerCore uint32
	_                uint32
}

// View fills in what the twin needs of a board, but for the limits, how it waits, and the
// ID, which comes last.
func (b *Board) View(v *View, berths Berths) {
	*v = View{
		Berths: berths,
		head:   mem.Ref(b.head), own: mem.Ref(b.own), lines: mem.AddrOf(b.lines), cells: mem.AddrOf(b.cells), cores: mem.AddrOf(b.cores), pieces: mem.AddrOf(b.pieces),
		piece: uint32(b.piece), me: uint32(b.Me), ranks: uint32(b.Ranks), fenced: flag(b.Fenced), central: b.centrals(), split: uint32(min(b.Split, math.MaxUint32)), follows: flag(b.Follows),
		most: [2]uint32{uint32(b.Most(coll.Gatherv)), uint32(max(0, b.Most(coll.Alltoallv)))},
	}
	if b.gauges != nil {
		v.gauges = mem.AddrOf(b.gauges)
	}
	if b.Ranks == measuring {
		for _, k := range []kind{copies, folds} {
			b.gauge(b.Me, k).Ahead() // the twin prepares what it writes, but not what it lends
		}
	}
	if b.stages != nil {
		v.stages, v.stage = mem.Addr(b.stages), uint64(len(b.stages)/b.Ranks)
		v.fills = uint64(flag(b.Fills))
	}
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Cut notes that this rank does not take part any more, or does again.
func (b *Board) Cut(cut bool) { b.own.cut = uint64(flag(cut)) }

// IsCut reports whether it has been cut.
func (b *Board) IsCut() bool { return b.own.cut != 0 }

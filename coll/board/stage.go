package board

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// A rank that exchanges long blocks with others may copy what it has for them to a stage, and lend that: each copies twice, all at the same time, and nobody has to
// wait then until the others have read; only what is to be staged next, which is lent as it is if they are late. Whether that is soonest two ranks find out (across.go);
// more stage where it takes long to read the memory of another process.
//
// Of two ranks each has one stage, and a belt, for the block that the other one gets of any exchange. What is longer has its front there, and the rest
// is lent. Of more ranks each has two in turns, for what it sends in an Alltoall, if all of it fits: who has seen what
// the others have for it in one call has also seen that they have done with the one before.

// onStage in an address that is told says that what is lent is on the stage, as much as that holds; and on the second one.
const (
	onStage   = 1 << 63
	onSecond  = 1 << 62
	stageBits = onStage | onSecond
)

// mostStaging is the number of ranks up to which there are stages, and stageSize that of each. What two ranks copy at a time has to
// stay in their caches: blocks of 1 MiB on Zen 5, with stages as long, did not if the two cores had none in common (174 us instead of 94).
const (
	mostStaging = 8
	stageSize   = across.Stage
)

// coldMost is how much of a block goes to the belt, where it is to have left the caches.
func (b *Board) coldMost() int { return 2 * int(b.portion()) }

// Stages divides memory that suits most ranks into that of a board of fewer or as many, and what Stage should be given: nothing
// if there are too many ranks, or if their pieces would have to be shorter.
func Stages(memory []byte, most, ranks int) (rest, stages []byte) {
	need := ranks * (stageSize + across.Belt)
	if ranks > 2 {
		need = ranks * 2 * stageSize
	}
	n := (len(memory) - need) &^ (pageSize - 1)
	if ranks > mostStaging || n < Fixed(most)+slots*ranks*pieceMost {
		return memory, nil
	}
	return memory[:n:n], memory[n : n+need]
}

// Stage gives a board memory for the stages of its ranks, the same at all: of two, or where Read takes longer than two copies.
func (b *Board) Stage(memory []byte) { b.stages = memory }

// stage is the stage of a rank on which it puts what it lends in turns that are odd, or even.
func (b *Board) stage(rank int, set uint64) []byte {
	each := len(b.stages) / b.Ranks
	if b.Ranks == 2 {
		return b.stages[rank*each:][:b.portion()]
	}
	return b.stages[rank*each+int(set)*(each/2):][:each/2]
}

func (b *Board) set(turn uint64) uint64 {
	if b.Ranks == 2 {
		return 0
	}
	return turn % 2
}

// lends returns the address to be told in a turn for what this rank has for the others, which is at an address.
func (o *Op) lends(turn uint64, at uint64) uint64 {
	b := o.b
	if b.Ranks == 2 {
		return o.lendsBlock(turn, at)
	}
	set := b.set(turn)
	*b.told(turn, b.Me) = 0
	if b.stages == nil || o.Op != coll.Alltoall || o.Ranks*o.size > len(b.stage(b.Me, 0)) || !b.cleared(set) {
		return at
	}
	to := b.stage(b.Me, set)
	b.putBlocks(turn, copies, o.size, func(i int) (place, data []byte) { return to[i*o.size:][:o.size], o.Outgoing(i) })
	b.own.staged[set] = turn + 1
	return at | onStage | set<<62
}

// lendsBlock is lends for the block that is for the other of two ranks.
func (o *Op) lendsBlock(turn uint64, at uint64) uint64 {
	b := o.b
	block := o.Outgoing(1 - b.Me)
	var way across.Way
	if b.stages != nil {
		way = b.gauge(1-b.Me, loans).Way(len(block), across.OrLent)
	}
	told, where := b.told(turn, b.Me), b.where(turn, b.Me)
	if *told, *where = 0, 0; way.Timed {
		*told = across.Tell(across.Lent, len(block), 0)
	}
	if b.stages == nil || len(block) == 0 || way.Form == across.Lent {
		return at
	}
	to := b.stage(b.Me, 0)
	front := block[:min(len(block), len(to))]
	if way.Form == across.Cold {
		front = block[:min(len(block), b.coldMost())]
		if *where = b.takeBelt(turn, len(front)); *where == 0 {
			return at
		}
		to = b.onBelt(b.Me, *where-1, len(front))
	} else {
		if !b.cleared(0) {
			return at
		}
		b.own.staged[0] = turn + 1
	}
	if t := way.Write(to, front); t != 0 {
		*told = across.Tell(way.Form, len(block), t.Ticks())
	} else {
		*told = 0
	}
	b.own.staged[1] = 0
	if len(front) == len(block) {
		b.own.staged[1] = turn + 1
	}
	return at | onStage
}

// cleared reports whether others have read what was on a stage before.
func (b *Board) cleared(set uint64) bool {
	for i := range b.Ranks {
		if i != b.Me && b.line(i).turns.Load() < b.own.staged[set] {
			return false
		}
	}
	return true
}

// staged reports whether all that this rank has lent in a turn is on the stage or the belt, so that it need not wait for who reads it.
func (o *Op) staged(turn uint64) bool {
	b := o.b
	if b.Ranks == 2 {
		return b.own.staged[1] == turn+1
	}
	return b.own.staged[b.set(turn)] == turn+1
}

// read reads what a rank has lent in a turn, at an address or, of Alltoall, off bytes behind it, and reports whether it could.
func (b *Board) read(turn uint64, rank int, addr uint64, off int, to []byte) bool {
	n := 0
	told, began := b.begin(turn, rank, len(to))
	switch {
	case addr&onStage == 0:
	case b.Ranks > 2:
		n = mem.Across(to, b.stage(rank, addr&onSecond>>62)[off:])
	case *b.where(turn, rank) > 0:
		n = min(len(to), b.coldMost())
		mem.Across(to, b.onBelt(rank, *b.where(turn, rank)-1, n))
	default:
		n = mem.Across(to, b.stage(rank, 0))
	}
	if n < len(to) && !b.Read(rank, addr&^stageBits+uint64(off+n), to[n:]) {
		return false
	}
	b.end(loans, rank, told, began)
	return true
}

package board

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Where it takes long to read the memory of another process, a rank that exchanges long blocks with others copies
// what it has for them to a stage, and lends that: each copies twice at the speed of the caches, all at the same time. Nobody has to
// wait then until the others have read; only what is to be staged next, which is lent as it is if they are late.
//
// Of two ranks each has one stage, for the block that the other one gets of any exchange. What is longer has its front there, and the rest
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
	stageSize   = 512 << 10
)

// Stages divides memory that suits most ranks into that of a board of fewer or as many, and what Stage should be given: nothing
// if there are too many ranks, or if their pieces would have to be shorter.
func Stages(memory []byte, most, ranks int) (rest, stages []byte) {
	need := ranks * stageSize
	if ranks > 2 {
		need *= 2
	}
	n := len(memory) - need
	if ranks > mostStaging || n < Fixed(most)+slots*ranks*pieceMost {
		return memory, nil
	}
	return memory[:n:n], memory[n:]
}

// Stage gives a board memory for the stages of its ranks, the same at all, where Read takes longer than two copies.
func (b *Board) Stage(memory []byte) { b.stages = memory }

// stage is the stage of a rank on which it puts what it lends in turns that are odd, or even.
func (b *Board) stage(rank int, set uint64) []byte {
	each := len(b.stages) / b.Ranks
	n := each
	if b.Ranks > 2 {
		n /= 2
	}
	return b.stages[rank*each+int(set)*n:][:n]
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
	set := b.set(turn)
	switch {
	case b.stages == nil || !o.staging(turn):
		return at
	case b.Ranks == 2:
		mem.Across(b.stage(b.Me, set), o.Outgoing(1-b.Me))
	default:
		own := b.Me * o.size
		to := b.stage(b.Me, set)
		mem.Across(to, o.Send[:own])
		mem.Across(to[own+o.size:], o.Send[own+o.size:o.Ranks*o.size])
	}
	b.own.staged[set] = turn + 1
	return at | onStage | set<<62
}

// staging reports whether there is something to be staged, and others have read what was there before.
func (o *Op) staging(turn uint64) bool {
	b := o.b
	if b.Ranks == 2 && len(o.Outgoing(1-b.Me)) == 0 || b.Ranks > 2 && (o.Op != coll.Alltoall || o.Ranks*o.size > len(b.stage(b.Me, 0))) {
		return false
	}
	for i := range b.Ranks {
		if i != b.Me && b.line(i).turns.Load() < b.own.staged[b.set(turn)] {
			return false
		}
	}
	return true
}

// staged reports whether all that this rank has lent in a turn is on the stage, so that it need not wait for who reads it.
func (o *Op) staged(turn uint64) bool {
	b := o.b
	return b.stages != nil && b.own.staged[b.set(turn)] == turn+1 && (b.Ranks > 2 || len(o.Outgoing(1-b.Me)) <= len(b.stage(0, 0)))
}

// read reads what a rank has lent, at an address or, of Alltoall, off bytes behind it, and reports whether it could.
func (b *Board) read(rank int, addr uint64, off int, to []byte) bool {
	n := 0
	if addr&onStage != 0 {
		from := b.stage(rank, addr&onSecond>>62)
		if b.Ranks > 2 {
			from = from[off:]
		}
		n = mem.Across(to, from)
	}
	return n == len(to) || b.Read(rank, addr&^stageBits+uint64(off+n), to[n:])
}

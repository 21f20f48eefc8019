package board

import "github.com/exanet-mpi/exanet/internal/mem"

// Where it takes long to read the memory of another process, a rank that lends a long block to the other one, of two,
// copies it to its stage, and lends that: each copies twice at the speed of the caches, both at the same time. Neither has to
// wait then until the other has read; only the next block that is to be staged, which is lent as it is if the
// other one is late. Of a block that is longer than the stage the front is staged, and the rest lent.

// onStage in an address that is told says that the front of what is lent is on the stage, as much as it holds.
const onStage = 1 << 63

// Stages is the memory in bytes that Stage should be given. What two ranks copy at a time has to stay in their caches: of 1 MiB on
// Zen 5, with stages as long, it did not if the two cores had none in common (174 us instead of 94).
const Stages = 1 << 20

// Stage gives the board of two ranks memory for their stages, the same at both, where Read takes longer than two copies.
func (b *Board) Stage(memory []byte) { b.stages = memory }

func (b *Board) stage(rank int) []byte {
	n := len(b.stages) / 2
	return b.stages[rank*n : (rank+1)*n]
}

// lends returns the address to be told in a turn for what this rank has for the other one: that of the block, or
// of data that it is a part of.
func (b *Board) lends(turn uint64, block []byte, at uint64) uint64 {
	if b.stages == nil || len(block) == 0 || b.line(1-b.Me).turns.Load() < b.own.staged {
		return at
	}
	mem.Across(b.stage(b.Me), block)
	b.own.staged = turn + 1
	return at | onStage
}

// staged reports whether all of a block that this rank has lent in a turn is on the stage, so that it need not wait for who reads it.
func (b *Board) staged(turn uint64, block []byte) bool {
	return b.own.staged == turn+1 && len(block) <= len(b.stages)/2
}

// read reads what a rank has lent, at an address or, of Alltoall, off bytes behind it, and reports whether it could.
func (b *Board) read(rank int, addr uint64, off int, to []byte) bool {
	n := 0
	if addr&onStage != 0 {
		n = mem.Across(to, b.stage(rank))
	}
	return n == len(to) || b.Read(rank, addr&^onStage+uint64(off+n), to[n:])
}

package board

import "github.com/exanet-mpi/exanet/internal/mem"

// Where it takes long to read the memory of another process, a rank that lends a long block to the other one, of two,
// copies it to its stage, and lends that: each copies twice at the speed of the caches, both at the same time. Neither has to
// wait then until the other has read; only the next block that is to be staged, which is lent as it is if the
// other one is late.

// onStage instead of an address says that what is lent is on the stage.
const onStage = 1 << 63

// Stages is the memory in bytes that Stage should be given: longer blocks do not stay in the caches.
const Stages = 2 << 20

// Stage gives the board of two ranks memory for their stages, the same at both, where Read takes longer than two copies.
func (b *Board) Stage(memory []byte) { b.stages = memory }

func (b *Board) stage(rank int) []byte {
	n := len(b.stages) / 2
	return b.stages[rank*n : (rank+1)*n]
}

// lends returns the address to be told in a turn for what this rank has for the other one: that of the block, or
// of data that it is a part of, unless it is a copy that is lent.
func (b *Board) lends(turn uint64, block []byte, at uint64) uint64 {
	if len(block) == 0 || len(block) > len(b.stages)/2 || b.line(1-b.Me).turns.Load() < b.own.staged {
		return at
	}
	mem.Across(b.stage(b.Me), block)
	b.own.staged = turn + 1
	return onStage
}

// staged reports whether this rank has lent a copy in a turn, so that it need not wait for who reads it.
func (b *Board) staged(turn uint64) bool { return b.own.staged == turn+1 }

// read reads what a rank has lent at an address, or of Alltoall off bytes behind that if it is no copy, and reports
// whether it could.
func (b *Board) read(rank int, addr uint64, off int, to []byte) bool {
	if addr&onStage != 0 {
		mem.Across(to, b.stage(rank)[:len(to)])
		return true
	}
	return b.Read(rank, addr+uint64(off), to)
}

package board

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Calls with a block of its own size for each rank, of which a rank knows no more than
// those that it sends and gets itself: so they all take one turn, in which every block
// moves that is not too long for it. The others are messages, see coll.Schedule.BuildLate;
// but those of an Alltoallv of two ranks are lent, and read where they are, as in the direct
// form (direct.go).
//
// The blocks of Gatherv and Scatterv are in the places of their ranks, with their sizes
// in the words of the cells. What a rank posts of an Alltoallv is parts of one length,
// which the word of its cell tells: each is the size of the block for a rank, and the
// block, or where it is if it is lent, or nothing if it is a message.

const sizeWord = 8

// lentBlock marks the size of a block that is lent.
const lentBlock = 1 << 63

// mostLending is the number of ranks up to which blocks are lent: among more, messages
// take no longer.
const mostLending = 2

// mostToAll is how much a rank posts for all others at most: more is faster as messages,
// in pieces that stay in a cache. Of two ranks a block is at most mostToOne, which is faster
// as one, or, if each lends one to the other, mostEach.
const (
	mostToAll = 16 << 10
	mostToOne = 12 << 10
	mostEach  = 8 << 10
)

// Most is the length in bytes up to which a block of such a call moves so.
func (b *Board) Most(op coll.Collective) int {
	others := max(1, b.Ranks-1)
	switch {
	case toEach(op) && others == 1:
		most := b.piece&^(sizeWord-1) - sizeWord
		if !b.Dear {
			most = min(most, mostEach)
		}
		return most
	case toEach(op):
		return min(b.piece/others&^(sizeWord-1)-sizeWord, mostToAll/others)
	case others == 1 && !b.Dear:
		return min(b.piece, mostToOne)
	}
	return b.piece
}

// Vector reports whether the blocks of a collective have sizes that not all ranks know,
// and toEach whether every rank sends every other one such a block.
func Vector(op coll.Collective) bool { return op == coll.Gatherv || op == coll.Scatterv || toEach(op) }
func toEach(op coll.Collective) bool { return op == coll.Alltoallv || op == coll.Alltoallw }

// Lends reports whether long blocks of the call are read where they are, but for those of
// a rank that has them in place, where they may be overwritten before they have been read.
func (o *Op) Lends() bool {
	return toEach(o.Op) && o.b.Read != nil && o.b.Ranks <= mostLending && o.b.Most(o.Op) >= sizeWord
}

// alike reports whether two words of cells are of one call, whatever the sizes.
func alike(a, b uint64) bool { return (a^b)<<40 == 0 }

// outgoing is the block for a rank.
func (o *Op) outgoing(rank int) []byte {
	switch {
	case o.Op == coll.Gatherv:
		return o.Send
	case toEach(o.Op) && o.InPlace:
		return o.RecvBlocks.Of(o.Recv, rank)
	}
	return o.SendBlocks.Of(o.Send, rank)
}

// incoming is where the block from a rank belongs.
func (o *Op) incoming(rank int) []byte {
	if o.Op == coll.Scatterv {
		return o.Recv
	}
	return o.RecvBlocks.Of(o.Recv, rank)
}

// part is the word of the size and the block that a rank posts for another.
func (b *Board) part(at uint64, from, to, length int) []byte {
	i := to
	if to > from {
		i-- // none is for itself
	}
	return b.place(at, from, length*(b.Ranks-1))[i*length:][:length]
}

func (o *Op) postBlocks(at uint64) {
	b, most := o.b, o.b.Most(o.Op)
	word := func(size int) uint64 { return call(o.Call, size) }
	switch o.Op {
	case coll.Gatherv:
		if len(o.Send) <= most {
			b.put(at, o.Rank, o.Root, copies, b.place(at, o.Rank, len(o.Send)), o.Send)
		}
		b.post(at, o.Rank, word(len(o.Send)))
	case coll.Scatterv:
		for i := range o.Ranks {
			block := o.outgoing(i)
			if i == o.Rank {
				if !o.InPlace {
					copy(o.Recv, block)
				}
				continue
			}
			if len(block) <= most {
				b.put(at, i, i, copies, b.place(at, i, len(block)), block)
			}
			b.post(at, i, word(len(block)))
		}
	default:
		longest := 0
		for i := range o.Ranks {
			switch n := len(o.outgoing(i)); {
			case i == o.Rank:
			case n <= most:
				longest = max(longest, n)
			case o.lent:
				longest = max(longest, sizeWord)
			}
		}
		length := sizeWord + (longest+sizeWord-1)&^(sizeWord-1)
		for i := range o.Ranks {
			if i == o.Rank {
				continue
			}
			block := o.outgoing(i)
			to := b.part(at, o.Rank, i, length)
			size := uint64(len(block))
			switch {
			case len(block) <= most:
				b.put(at, o.Rank, i, copies, to[sizeWord:], block)
			case o.lent:
				size |= lentBlock
				binary.NativeEndian.PutUint64(to[sizeWord:], o.lends(at, mem.Addr(block)))
			}
			binary.NativeEndian.PutUint64(to, size)
		}
		b.post(at, o.Rank, word(length))
	}
}

// takeBlocks takes the blocks for this rank, and notes which are late: those of which who
// posts them says so, whatever this rank expects.
func (o *Op) takeBlocks(at uint64) {
	if o.Op == coll.Scatterv {
		o.takeBlock(at, o.Root, o.Rank)
		return
	}
	for i := range o.Ranks {
		if i != o.Rank {
			o.takeBlock(at, i, i)
		} else if !o.InPlace {
			mem.Copy(o.incoming(i), o.outgoing(i))
		}
	}
	o.tellMissed(at)
}

// takeBlock takes the block that a rank has posted in the cell of one.
func (o *Op) takeBlock(at uint64, from, cell int) {
	b := o.b
	_, _, size := uncall(b.cell(at, cell).call)
	var block []byte
	lent := false
	if toEach(o.Op) {
		part := b.part(at, from, o.Rank, size)
		word := binary.NativeEndian.Uint64(part)
		size, lent, block = int(word&^lentBlock), word&lentBlock != 0, part[sizeWord:]
	}
	to := o.incoming(from)
	long := size > b.Most(o.Op)
	if size != len(to) && o.err == nil {
		o.err = &Mismatch{Rank: from, Op: o.Op, Root: o.Root, Size: size, Mine: len(to)}
	}
	switch {
	case lent:
		if size == len(to) && !b.read(at, from, binary.NativeEndian.Uint64(block), 0, to) {
			o.Missed = append(o.Missed, from)
		}
	case long:
		o.Late = append(o.Late, from)
	case size != len(to):
	case block == nil:
		b.get(at, cell, from, to, b.place(at, cell, size))
	default:
		b.get(at, cell, from, to, block)
	}
}

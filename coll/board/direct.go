package board

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// The direct form, for long data: a rank posts where its data are, and those who want
// them read them there. There is one turn, whatever the size, and each byte is copied
// once, by the rank that it is for. The price is a second wait: a rank whose data are
// read returns when all have read them, which they tell as always by having done with
// the turn.
//
// Whether a rank can read another's memory shows when it tries. One that can not says so
// in its line before it has done with the turn; then it and the rank that it could not
// read from know, and the data are a message between the two (Op.Missed, Op.Owed).

// mostDirect is the number of ranks up to which there is a bit for each in a word.
const mostDirect = 32

// directly marks the word of a cell that has an address instead of data.
const directly = 1 << 63

// servesDirect is Serves for calls in the direct form. What is read of an Alltoall in
// place would be overwritten meanwhile.
func (b *Board) servesDirect(c *coll.Call) bool {
	switch c.Op {
	case coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Allgatherv:
	case coll.Alltoall:
		if c.InPlace {
			return false
		}
	default:
		return false
	}
	return b.Read != nil && b.Ranks <= mostDirect
}

// lend posts where this rank's data are, and moves what it sends to itself, while others
// may not have come yet.
func (o *Op) lend(at uint64) {
	b := o.b
	post := func(rank int, addr uint64) {
		if rooted := o.Op == coll.Bcast || o.Op == coll.Gather || o.Op == coll.Scatter; rooted {
			*b.told(at, rank) = 0
		}
		binary.NativeEndian.PutUint64(b.cell(at, rank).data[:], addr)
		b.post(at, rank, o.due(o.Rank))
	}
	switch o.Op {
	case coll.Bcast, coll.Gather:
		post(o.Rank, mem.Addr(o.Outgoing(o.Root)))
	case coll.Scatter:
		for i := range o.Ranks {
			if i != o.Rank {
				post(i, mem.Addr(o.Outgoing(i)))
			}
		}
	default:
		data := mem.Addr(o.Send)
		if o.Op != coll.Alltoall {
			data = mem.Addr(o.Outgoing(o.Root))
		}
		post(o.Rank, o.lends(at, data))
	}
	if o.Op != coll.Bcast && o.Op != coll.Gather {
		o.keep()
	}
}

// keep moves what the rank sends to itself.
func (o *Op) keep() {
	if !o.InPlace {
		mem.Copy(o.Incoming(o.Rank), o.Outgoing(o.Rank))
	}
}

// borrow reads what others have for this rank, the next rank's first, so that not all
// read from the same one.
func (o *Op) borrow(at uint64) {
	switch o.Op {
	case coll.Bcast:
		o.fetch(at, o.Root, o.Root, 0)
	case coll.Scatter:
		o.fetch(at, o.Root, o.Rank, 0)
	default:
		off := 0
		if o.Op == coll.Alltoall {
			off = o.Rank * o.size
		}
		for d := 1; d < o.Ranks; d++ {
			i := (o.Rank + d) % o.Ranks
			o.fetch(at, i, i, off)
		}
	}
	if o.Op == coll.Gather {
		o.keep()
	}
	o.tellMissed(at)
}

// fetch reads what a rank has for this one, off bytes behind the address in a cell.
func (o *Op) fetch(at uint64, rank, cell, off int) {
	addr := binary.NativeEndian.Uint64(o.b.cell(at, cell).data[:])
	if to := o.Incoming(rank); len(to) > 0 && !o.b.read(at, rank, addr, off, to) {
		o.Missed = append(o.Missed, rank)
	}
}

// tellMissed tells the ranks that this one could not read from.
func (o *Op) tellMissed(at uint64) {
	if len(o.Missed) == 0 {
		return
	}
	bits := uint64(0)
	for _, i := range o.Missed {
		bits |= 1 << i
	}
	o.b.own.missed[at%(2*slots)].Store(at<<32 | bits)
}

// freed reports whether all who read from this rank have done so, and notes those that
// could not.
func (o *Op) freed() bool {
	if !o.lent && (o.form != direct || !o.posts(0)) || o.staged(o.first) {
		return true
	}
	for ; o.asked < o.Ranks; o.asked++ {
		i := o.asked
		if i == o.Rank || o.Op == coll.Gather && i != o.Root || o.lent && len(o.outgoing(i)) <= o.b.Most(o.Op) {
			continue
		}
		l := o.b.line(i)
		switch turns := (*uint64)(unsafe.Pointer(&l.turns)); {
		case atomic.LoadUint64(turns) > o.first:
		case o.Op == coll.Gather || o.lent: // one rank has read, of those that there may be
			o.awaits = o.b.word(turns, o.first+1, i)
			return false
		default:
			o.awaits = o.b.finished(o.first, i, o.Rank)
			return false
		}
		if m := l.missed[o.first%(2*slots)].Load(); uint32(m>>32) == uint32(o.first) && m>>o.Rank&1 != 0 {
			o.Owed = append(o.Owed, i)
		}
	}
	return true
}

// Outgoing is what this rank has for another, and Incoming where what it gets from one
// belongs.
func (o *Op) Outgoing(rank int) []byte {
	switch o.Op {
	case coll.Bcast:
		return o.Recv
	case coll.Gather, coll.Allgather, coll.Allgatherv:
		if o.InPlace {
			return o.Incoming(o.Rank)
		}
		return o.Send
	case coll.Scatter, coll.Alltoall:
		return o.block(o.Send, rank, 0, o.size)
	}
	return o.outgoing(rank)
}

// Incoming is described at Outgoing.
func (o *Op) Incoming(rank int) []byte {
	switch o.Op {
	case coll.Bcast, coll.Scatter:
		return o.Recv
	case coll.Gather, coll.Allgather, coll.Alltoall:
		return o.block(o.Recv, rank, 0, o.size)
	}
	return o.incoming(rank)
}

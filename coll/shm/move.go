package shm

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Calls that move blocks. A rank gives what others want of it, copied or lent, and takes what it wants of
// them. Of a Scatterv or Alltoallv it gives a table with an entry for each rank, where the block for that one
// is and how long; the blocks follow the table, or are lent.

// entrySize is that of two words: where a block is, from the table or in memory, and its size.
const entrySize = 16

// move performs a call of these.
func (o *Call) move() {
	rooted := o.Op == coll.Bcast || o.Op == coll.Scatter || o.Op == coll.Scatterv
	toRoot := o.Op == coll.Gather || o.Op == coll.Gatherv
	root := o.Rank == o.Root
	lends := false
	if toEach(o.Op) && o.InPlace && o.tableSize() > o.a.segment && o.rounds == 0 {
		o.copyOut()
	}
	switch {
	case rooted && !root || toRoot && root:
		o.post(0, 0)
	case o.Op == coll.Scatterv || toEach(o.Op):
		lends = o.giveBlocks()
	case o.Op == coll.Bcast:
		lends = o.give(o.Recv, 0, 0)
	case o.Op == coll.Scatter:
		lends = o.give(o.Send, 0, 0)
	case o.Op == coll.Alltoall:
		out := o.Send
		if o.InPlace {
			out = o.Recv
		}
		n := o.Bytes()
		lends = o.give(out, o.Rank*n, (o.Rank+1)*n)
	default:
		lends = o.give(o.Outgoing(o.Root), 0, 0)
	}
	if o.Op != coll.Bcast && !o.InPlace && (root || !rooted && !toRoot) { // what it sends to itself
		mem.Copy(o.Incoming(o.Rank), o.Outgoing(o.Rank))
	}
	switch {
	case rooted && root || toRoot && !root:
	case rooted:
		if o.see(o.Root) {
			o.take(o.Root)
		}
	case o.seeAll():
		for d := 1; d < o.Ranks; d++ { // not all from the same rank at once
			o.take((o.Rank + d) % o.Ranks)
		}
	}
	if o.hasSecond() && o.err != ErrGone {
		o.publishSecond(o.missed)
	}
	if lends {
		o.reclaim(toRoot)
	}
}

// reclaim waits until all have read what this rank has lent to all others, or to the root alone. Who has passed
// another size has not read, but tells a second round as well.
func (o *Call) reclaim(toRoot bool) {
	a := o.a
	if toRoot {
		if o.see(o.Root); o.err == ErrGone || a.Failed() || !o.await(a.one(o.n, 1, o.Root)) {
			return
		}
		o.owes(o.Root)
		return
	}
	if o.seeAll(); o.err == ErrGone || a.Failed() || !o.await(a.all(o.n, 1)) {
		return
	}
	for i := range o.Ranks {
		if i != o.Rank {
			o.owes(i)
		}
	}
}

// give publishes data but for [lo,hi), which nobody wants. It reports whether they are lent.
func (o *Call) give(data []byte, lo, hi int) (lent bool) {
	if o.rounds > 0 {
		return false
	}
	if o.Form == Lent || len(data) > o.a.segment {
		o.post(len(data), mem.Addr(data))
		return len(data) > 0
	}
	to := o.a.place(o.n, o.Rank, len(data))
	copy(to[:lo], data)
	copy(to[hi:], data[hi:])
	o.post(len(data), 0)
	return false
}

// tableSize is how much a table takes with its blocks.
func (o *Call) tableSize() (n int) {
	for i := range o.Ranks {
		if i != o.Rank {
			n += len(o.Outgoing(i))
		}
	}
	return n + entrySize*o.Ranks
}

// copyOut copies what this rank has in place for others aside, where it stays as they read it.
func (o *Call) copyOut() {
	each := make([][]byte, o.Ranks)
	for i := range each {
		each[i] = append(each[i], o.Outgoing(i)...)
	}
	o.SendBlocks, o.InPlace = coll.Blocks{Each: each}, false
}

// giveBlocks publishes a table of blocks, and reports whether they are lent.
func (o *Call) giveBlocks() (lent bool) {
	if o.rounds > 0 {
		return false
	}
	at := entrySize * o.Ranks
	length, addr := o.tableSize(), uint64(0)
	if lent = length > o.a.segment; lent {
		length, addr = at, 1
	}
	to := o.a.place(o.n, o.Rank, length)
	for i := range o.Ranks {
		if i == o.Rank {
			continue
		}
		block, where := o.Outgoing(i), uint64(at)
		if lent {
			where = mem.Addr(block)
		} else {
			at += copy(to[at:], block)
		}
		binary.NativeEndian.PutUint64(to[entrySize*i:], where)
		binary.NativeEndian.PutUint64(to[entrySize*i+8:], uint64(len(block)))
	}
	o.post(length, addr)
	return lent
}

// take takes what a rank has given for this one.
func (o *Call) take(rank int) {
	a, to := o.a, o.Incoming(rank)
	s := a.slot(o.n, rank)
	length, addr, lent := s.length.Load(), s.addr.Load(), s.addr.Load() != 0
	off, due := uint64(0), uint64(len(to))
	switch {
	case o.Op == coll.Scatterv || toEach(o.Op):
		entry := a.place(o.n, rank, int(length))[entrySize*o.Rank:]
		off, addr = binary.NativeEndian.Uint64(entry), 0
		if its := binary.NativeEndian.Uint64(entry[8:]); its != due {
			o.differs(rank, its, due)
			return
		}
	case o.Op == coll.Scatter || o.Op == coll.Alltoall:
		off, due = due*uint64(o.Rank), due*uint64(o.Ranks)
		fallthrough
	default:
		if length != due {
			o.differs(rank, length, due)
			return
		}
	}
	switch {
	case len(to) == 0:
	case !lent:
		mem.Copy(to, a.place(o.n, rank, int(length))[off:])
	case !a.Read(rank, addr+off, to):
		o.Missed = append(o.Missed, rank)
		o.missed |= 1 << rank
	}
}

// owes notes that a rank could not read from this one, if it tells so.
func (o *Call) owes(rank int) {
	s := o.a.slot(o.n, rank)
	if tells := s.second.Load(); s.round.Load() == round(o.n, 1) && tells != noResult && tells>>o.Rank&1 != 0 {
		o.Owed = append(o.Owed, rank)
	}
}

// Outgoing is what this rank has for another, and Incoming where what it gets from one belongs.
func (o *Call) Outgoing(rank int) []byte {
	switch o.Op {
	case coll.Bcast:
		return o.Recv
	case coll.Gather, coll.Gatherv, coll.Allgather, coll.Allgatherv:
		if o.InPlace {
			return o.Incoming(o.Rank)
		}
		return o.Send
	case coll.Alltoall, coll.Alltoallv, coll.Alltoallw:
		if o.InPlace {
			return o.RecvBlocks.Of(o.Recv, rank)
		}
	}
	return o.SendBlocks.Of(o.Send, rank)
}

// Incoming is described at Outgoing.
func (o *Call) Incoming(rank int) []byte {
	switch o.Op {
	case coll.Bcast, coll.Scatter, coll.Scatterv:
		return o.Recv
	}
	return o.RecvBlocks.Of(o.Recv, rank)
}

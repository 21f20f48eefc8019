package shm

import (
	"github.com/exanet-mpi/exanet/coll"
)

// Reductions combine in the order of the ranks, from the last to the first, at every rank alike: so the
// result is the same to the bit at all ranks and in all runs, and operators need not commute.

// reduce performs one.
func (o *Call) reduce() {
	n := len(o.input())
	last, lo, hi := o.Ranks-1, 0, n // the ranks that this one combines, and the part
	switch o.Op {
	case coll.Reduce:
		if o.Rank != o.Root {
			last = -1
		}
	case coll.Scan:
		last = o.Rank
	case coll.Exscan:
		last = o.Rank - 1
	case coll.ReduceScatter, coll.ReduceScatterBlock:
		lo, hi = o.RecvBlocks.Span(o.Rank)
	case coll.Allreduce:
		if o.splits() {
			lo, hi = o.share(o.Rank)
		}
	}
	switch {
	case o.Op == coll.Reduce && last >= 0 && !o.InPlace:
		o.post(0, 0)
	case (o.Op == coll.ReduceScatter || o.Op == coll.ReduceScatterBlock || o.splits()) && !o.InPlace:
		o.give(o.input(), lo, hi)
	default:
		o.give(o.input(), 0, 0)
	}
	if last < 0 || (last > 0 || o.Rank > 0) && !o.seeAll() {
		return
	}
	if !o.splits() {
		o.fold(o.Recv[:hi-lo], last, lo, hi)
		return
	}
	o.fold(o.Recv[lo:hi], last, lo, hi)
	copy(o.a.place(o.n, o.Rank, n)[lo:hi], o.Recv[lo:hi])
	o.publishSecond(0)
	if !o.await(o.a.all(o.n, 1)) {
		return
	}
	for i := range o.Ranks {
		if i == o.Rank {
			continue
		}
		if o.a.slot(o.n, i).second.Load() == noResult {
			o.note(&Mismatch{Parts: [2]Part{part(o.Rank, o.what), part(i, o.what)}, Failed: true})
			return
		}
		from, end := o.share(i)
		copy(o.Recv[from:end], o.a.place(o.n, i, n)[from:end])
	}
}

// splits reports whether every rank combines a share of an Allreduce, and publishes it in the second round.
func (o *Call) splits() bool { return o.Op == coll.Allreduce && o.Bytes() >= o.a.Split }

// share is the part of a vector that a rank combines.
func (o *Call) share(rank int) (lo, hi int) {
	n := len(o.Recv)
	each := (n/o.Elem + o.Ranks - 1) / o.Ranks * o.Elem
	return min(each*rank, n), min(each*rank+each, n)
}

// input is this rank's contribution.
func (o *Call) input() []byte {
	if o.InPlace {
		return o.Recv
	}
	return o.Send
}

// fold combines [lo,hi) of what the ranks up to last have given.
func (o *Call) fold(out []byte, last, lo, hi int) {
	if lo == hi {
		return
	}
	n := len(o.input())
	for i := last; i >= 0; i-- {
		var in []byte
		own := i == o.Rank && !(o.InPlace && i < last) // else its place has it still
		if own {
			in = o.input()[lo:hi]
		} else {
			in = o.a.place(o.n, i, n)[lo:hi]
		}
		switch {
		case i == last:
			copy(out, in)
		case o.Own && !own:
			o.scratch = append(o.scratch[:0], in...)
			o.Combine(o.scratch, out)
		default:
			o.Combine(in, out)
		}
	}
}

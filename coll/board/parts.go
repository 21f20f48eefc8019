package board

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// piece is the part of the vector, or of a block, that belongs to a step.
func (o *Op) piece(i int) (lo, hi int) {
	lo = min(i*o.step, o.size)
	return lo, min(lo+o.step, o.size)
}

// The turns of calls with results. Where every rank combines a share, contributions
// are posted one step ahead of the results, so that nobody waits for both at once:
//
//	turn   0  1  2  3  4  ...  2m-2  2m-1
//	step   0  1  0  2  1  ...  m-2   m-1
//	       contribution 0, 1, then result, contribution, result, ...

// isResult reports whether results are posted in a turn.
func (o *Op) isResult(turn int) bool {
	switch o.form {
	case central:
		return turn%2 == 1
	case split:
		return turn == o.total-1 || turn > 0 && turn%2 == 0
	}
	return false
}

// contribution is the turn of what a result is made of.
func (o *Op) contribution(turn int) int {
	if o.form == central {
		return turn - 1
	}
	return max(0, 2*o.stepOf(turn)-1)
}

// stepOf is the step that a turn belongs to.
func (o *Op) stepOf(turn int) int {
	switch {
	case o.form == plain:
		return turn
	case o.form == central:
		return turn / 2
	case turn == o.total-1:
		return o.total/2 - 1
	case o.isResult(turn):
		return turn/2 - 1
	}
	return (turn + 1) / 2
}

// share is the part of n bytes that a rank combines.
func (o *Op) share(n, rank int) (lo, hi int) {
	each := (n/o.Elem + o.Ranks - 1) / o.Ranks * o.Elem
	return min(each*rank, n), min(each*rank+each, n)
}

// longestShare is the length of the first one.
func (o *Op) longestShare(n int) int {
	from, end := o.share(n, 0)
	return end - from
}

// input is this rank's contribution to a reduction.
func (o *Op) input() []byte {
	if o.InPlace {
		return o.Recv
	}
	return o.Send
}

// whose is who combines what this rank posts, or all do.
func (o *Op) whose() int {
	switch {
	case o.Op == coll.Reduce:
		return o.Root
	case o.form == central:
		return 0
	}
	return all
}

// block returns a piece of the block of a rank in a buffer.
func (o *Op) block(buf []byte, rank, lo, hi int) []byte {
	return buf[rank*o.size+lo : rank*o.size+hi]
}

// post puts this rank's part of a turn into its place.
func (o *Op) post(turn int) {
	b, at := o.b, o.first+uint64(turn)
	if o.form == direct {
		o.lend(at)
		return
	}
	lo, hi := o.piece(o.stepOf(turn))
	n := hi - lo
	switch o.Op {
	case coll.Gatherv, coll.Scatterv, coll.Alltoallv, coll.Alltoallw:
		o.postBlocks(at)
		return
	case coll.Bcast:
		b.put(at, o.Rank, all, copies, b.place(at, o.Rank, n), o.Recv[lo:hi])
	case coll.Scatter:
		for i := range o.Ranks {
			if i == o.Rank {
				if !o.InPlace {
					copy(o.Recv[lo:hi], o.block(o.Send, i, lo, hi))
				}
				continue
			}
			b.put(at, i, i, copies, b.place(at, i, n), o.block(o.Send, i, lo, hi))
			b.post(at, i, o.what)
		}
		return
	case coll.Gather:
		b.put(at, o.Rank, o.Root, copies, b.place(at, o.Rank, n), o.Send[lo:hi])
	case coll.Allgather:
		in := o.Send
		if o.InPlace {
			in = o.block(o.Recv, o.Rank, 0, o.size)
		}
		b.put(at, o.Rank, all, copies, b.place(at, o.Rank, n), in[lo:hi])
	case coll.Allgatherv:
		in := o.Send
		if o.InPlace {
			in = o.RecvBlocks.Of(o.Recv, o.Rank)
		}
		in = o.cut(in, lo, hi)
		b.put(at, o.Rank, all, copies, b.place(at, o.Rank, len(in)), in)
	case coll.Alltoall:
		in := o.Send
		if o.InPlace {
			in = o.Recv
		}
		to := b.place(at, o.Rank, n*o.Ranks)
		if other := 1 - o.Rank; o.Ranks == measuring {
			b.put(at, o.Rank, other, copies, to[other*n:][:n], o.block(in, other, lo, hi))
			break
		}
		b.putBlocks(at, copies, n, func(i int) (place, data []byte) { return to[i*n:][:n], o.block(in, i, lo, hi) })
	case coll.Reduce, coll.Scan, coll.Exscan, coll.ReduceScatter, coll.ReduceScatterBlock:
		in := o.input()
		if o.deals() {
			from, end := o.RecvBlocks.Span(1 - o.Rank)
			in = in[from:end]
		}
		in = o.cut(in, lo, hi)
		b.put(at, o.Rank, o.whose(), folds, b.place(at, o.Rank, len(in)), in)
	case coll.Allreduce:
		to := b.place(at, o.Rank, n)
		from, end := o.share(n, o.Rank)
		in := o.input()[lo:hi]
		switch {
		case o.form == central && o.isResult(turn):
			o.fold(to, at-1, lo, n, 0, n)
			copy(o.Recv[lo:hi], to)
		case o.form != split:
			b.put(at, o.Rank, o.whose(), folds, to, in)
		case o.isResult(turn):
			b.put(at, o.Rank, all, copies, to[from:end], o.Recv[lo+from:lo+end])
		case o.Ranks == measuring && o.InPlace:
			b.putAll(at, o.Rank, to, in)
		case o.Ranks == measuring:
			b.put(at, o.Rank, all, folds, to[:from], in[:from])
			b.put(at, o.Rank, all, folds, to[end:], in[end:])
		default:
			if o.InPlace { // the result goes where its own share is
				mem.Across(to[from:end], in[from:end])
			}
			b.putBlocks(at, folds, o.longestShare(n), func(i int) (place, data []byte) {
				from, end := o.share(n, i)
				return to[from:end], in[from:end]
			})
		}
	}
	what := o.what
	if o.isResult(turn) && o.err != nil {
		what = spoilt
	}
	b.post(at, o.Rank, what)
}

// take takes this rank's part of a turn out of the places of others. A call with an
// error takes nothing.
func (o *Op) take(turn int) {
	if o.err != nil {
		return
	}
	b, at := o.b, o.first+uint64(turn)
	if o.form == direct {
		o.borrow(at)
		return
	}
	lo, hi := o.piece(o.stepOf(turn))
	n := hi - lo
	switch o.Op {
	case coll.Gatherv, coll.Scatterv, coll.Alltoallv, coll.Alltoallw:
		o.takeBlocks(at)
	case coll.Bcast:
		b.get(at, o.Root, o.Root, o.Recv[lo:hi], b.place(at, o.Root, n))
	case coll.Scatter:
		b.get(at, o.Rank, o.Root, o.Recv[lo:hi], b.place(at, o.Rank, n))
	case coll.Gather, coll.Allgather:
		for i := range o.Ranks {
			if i != o.Rank {
				b.get(at, i, i, o.block(o.Recv, i, lo, hi), b.place(at, i, n))
			} else if !o.InPlace {
				copy(o.block(o.Recv, i, lo, hi), o.Send[lo:hi])
			}
		}
	case coll.Alltoall:
		for i := range o.Ranks {
			if i != o.Rank {
				b.get(at, i, i, o.block(o.Recv, i, lo, hi), b.place(at, i, n*o.Ranks)[o.Rank*n:])
			} else if !o.InPlace {
				copy(o.block(o.Recv, i, lo, hi), o.block(o.Send, i, lo, hi))
			}
		}
	case coll.Allgatherv:
		for i := range o.Ranks {
			to := o.cut(o.RecvBlocks.Of(o.Recv, i), lo, hi)
			if i != o.Rank {
				b.get(at, i, i, to, b.place(at, i, len(to)))
			} else if !o.InPlace {
				copy(to, o.cut(o.Send, lo, hi))
			}
		}
	case coll.Reduce:
		o.fold(o.Recv[lo:hi], at, lo, n, 0, n)
	case coll.Scan:
		o.foldTo(o.Rank, o.Recv[lo:hi], at, lo, n, 0, n)
	case coll.Exscan:
		if o.Rank > 0 {
			o.foldTo(o.Rank-1, o.Recv[lo:hi], at, lo, n, 0, n)
		}
	case coll.ReduceScatter, coll.ReduceScatterBlock:
		if o.deals() {
			o.foldDealt(o.cut(o.Recv[:o.hi-o.lo], lo, hi), at, o.cut(o.input()[o.lo:o.hi], lo, hi))
			return
		}
		if from, end := max(lo, o.lo), min(hi, o.hi); from < end {
			o.fold(o.Recv[from-o.lo:end-o.lo], at, lo, n, from-lo, end-lo)
		}
	case coll.Allreduce:
		switch {
		case o.form == plain:
			o.fold(o.Recv[lo:hi], at, lo, n, 0, n)
		case o.form == central:
			if o.Rank != 0 {
				mem.Across(o.Recv[lo:hi], b.place(at, 0, n))
			} // else it combines when it posts the result
		case !o.isResult(turn):
			from, end := o.share(n, o.Rank)
			o.fold(o.Recv[lo+from:lo+end], at, lo, n, from, end)
		default:
			for i := range o.Ranks {
				if i != o.Rank {
					from, end := o.share(n, i)
					b.get(at, i, i, o.Recv[lo+from:lo+end], b.place(at, i, n)[from:end])
				}
			}
		}
	}
}

// fold combines [from,end) of the n bytes that the ranks have posted in a turn, in
// the order of the ranks, and so in the same way at every rank: the last with the
// one before it, and so on.
func (o *Op) fold(out []byte, at uint64, lo, n, from, end int) {
	o.foldTo(o.Ranks-1, out, at, lo, n, from, end)
}

// foldTo is fold of the ranks up to last.
func (o *Op) foldTo(last int, out []byte, at uint64, lo, n, from, end int) {
	if from == end || o.err != nil {
		return
	}
	b, posted, two := o.b, n, o.Ranks == measuring
	switch {
	case o.form == split && two:
		posted = end - from
	case o.form == split:
		posted = o.longestShare(n)
	}
	var told across.Told
	var began uint64
	if two && (last > 0 || o.Rank > 0) {
		told, began = b.begin(at, 1-b.Me, posted)
	}
	for i := last; i >= 0; i-- {
		if !two && i != o.Rank {
			told, began = b.begin(at, i, posted)
		}
		switch in := o.part(at, i, lo, n, from, end, last); {
		case i == last && &in[0] == &out[0]:
		case i == last:
			mem.Across(out, in)
		case o.Own && i != o.Rank:
			o.Combine(o.aside(in), out)
		default:
			o.Combine(in, out)
		}
		if !two && i != o.Rank {
			b.end(folds, i, told, began)
		}
	}
	if two { // both in one: the first may be this rank's own
		b.end(folds, 1-b.Me, told, began)
	}
}

// deals reports whether each rank posts only what the other combines: of two that scatter a result.
func (o *Op) deals() bool {
	return o.Ranks == 2 && (o.Op == coll.ReduceScatter || o.Op == coll.ReduceScatterBlock)
}

// foldDealt is fold of what the other rank has posted for this one, and of its own; in place that is where out is, or behind it.
func (o *Op) foldDealt(out []byte, at uint64, own []byte) {
	n := len(out)
	if n == 0 {
		return
	}
	b, other := o.b, 1-o.Rank
	told, began := b.begin(at, other, n)
	theirs := b.written(other, at, other, b.place(at, other, n))
	if o.Rank == 0 {
		if o.InPlace {
			own = o.aside(own)
		}
		mem.Across(out, theirs)
		o.Combine(own, out)
	} else {
		if o.Own {
			theirs = o.aside(theirs)
		}
		copy(out, own)
		o.Combine(theirs, out)
	}
	b.end(folds, other, told, began)
}

// aside copies data to memory of the Op's own, until it is called again.
func (o *Op) aside(data []byte) []byte {
	o.scratch = append(o.scratch[:0], data...)
	return o.scratch
}

// cut is the part of a block, which may be a short one, that belongs to [lo,hi).
func (o *Op) cut(block []byte, lo, hi int) []byte {
	return block[min(lo, len(block)):min(hi, len(block))]
}

// part is what a rank contributes to [from,end) of a turn, of which those up to last are
// combined.
func (o *Op) part(at uint64, rank, lo, n, from, end, last int) []byte {
	if rank == o.Rank && !(o.InPlace && rank < last && o.form != central) {
		return o.input()[lo+from : lo+end]
	}
	place := o.b.place(at, rank, n)
	if o.form == split { // it has put no more than that, or all in its place
		return o.b.written(rank, at, rank, place[from:end])
	}
	return o.b.written(rank, at, rank, place)[from:end]
}

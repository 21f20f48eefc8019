package coll_test

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/exanet-mpi/exanet/coll"
)

// A problem is a collective call of all ranks with what must come out of it,
// computed serially and without any of this package's code.
type problem struct {
	op      coll.Collective
	p, n    int // ranks, size in elements: of the vector, or of a block
	root    int
	inPlace bool
	commute bool

	calls []coll.Call
	want  [][]byte // the whole of Recv at each rank
	sends [][]byte // Send must not change
}

// Elements are affine maps x -> a*x+b modulo a prime, 8 bytes each: their
// composition is associative but does not commute. Where the operator shall
// commute, they are numbers to be added.
const (
	elem  = 8
	prime = 65521
)

func compose(from, to []byte) {
	for i := 0; i < len(to); i += elem {
		a1, b1 := binary.LittleEndian.Uint32(from[i:]), binary.LittleEndian.Uint32(from[i+4:])
		a2, b2 := binary.LittleEndian.Uint32(to[i:]), binary.LittleEndian.Uint32(to[i+4:])
		binary.LittleEndian.PutUint32(to[i:], a1*a2%prime)
		binary.LittleEndian.PutUint32(to[i+4:], (a1*b2+b1)%prime)
	}
}

func sum(from, to []byte) {
	for i := 0; i < len(to); i += elem {
		binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:])+binary.LittleEndian.Uint64(to[i:]))
	}
}

func (q *problem) combine() func(from, to []byte) {
	if q.commute {
		return sum
	}
	return compose
}

func vector(n int, rng *rand.Rand) []byte {
	b := make([]byte, n*elem)
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], rng.Uint32N(prime-1)+1)
	}
	return b
}

func garbage(n int) []byte {
	b := make([]byte, n*elem)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}

func clone(b []byte) []byte { return append([]byte{}, b...) }

// total reduces some ranks' vectors in rank order; nil if there are none.
func (q *problem) total(in [][]byte) []byte {
	var acc []byte
	for i := len(in) - 1; i >= 0; i-- {
		if acc == nil {
			acc = clone(in[i])
			continue
		}
		q.combine()(in[i], acc)
	}
	return acc
}

// layout divides a buffer into blocks of the given sizes in a random order with
// gaps between, and returns the size of the buffer in elements.
func layout(sizes []int, rng *rand.Rand) (coll.Blocks, int) {
	b := coll.Blocks{Unit: elem, Counts: sizes, Displs: make([]int, len(sizes))}
	at := rng.IntN(3)
	for _, i := range rng.Perm(len(sizes)) {
		b.Displs[i] = at
		at += sizes[i] + rng.IntN(3)
	}
	return b, at
}

func block(b []byte, l coll.Blocks, i int) []byte {
	switch {
	case l.Counts == nil:
		n := l.N * l.Unit
		return b[i*n : (i+1)*n]
	case l.Displs != nil:
		return b[l.Displs[i]*l.Unit:][:l.Counts[i]*l.Unit]
	}
	for _, c := range l.Counts[:i] {
		b = b[c*l.Unit:]
	}
	return b[:l.Counts[i]*l.Unit]
}

// sizes are different for each rank, and some are empty.
func (q *problem) sizes(rng *rand.Rand) []int {
	s := make([]int, q.p)
	for i := range s {
		if rng.IntN(4) > 0 {
			s[i] = rng.IntN(2*q.n + 1)
		}
	}
	return s
}

func uniform(n int) coll.Blocks { return coll.Blocks{Unit: elem, N: n} }

// pose makes a problem.
func pose(op coll.Collective, p, n, root int, inPlace, commute bool, rng *rand.Rand) *problem {
	q := &problem{op: op, p: p, n: n, root: root, inPlace: inPlace, commute: commute}
	for i := range p {
		q.calls = append(q.calls, coll.Call{Op: op, Rank: i, Ranks: p, Root: root, Elem: elem, Commute: commute})
	}
	q.want = make([][]byte, p)
	switch op {
	case coll.Barrier:
	case coll.Bcast:
		v := vector(n, rng)
		for i := range p {
			q.calls[i].Recv, q.want[i] = garbage(n), v
		}
		copy(q.calls[root].Recv, v)
	case coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv:
		q.rooted(rng)
	case coll.Allgather, coll.Allgatherv:
		q.allgather(rng)
	case coll.Alltoall, coll.Alltoallv, coll.Alltoallw:
		q.alltoall(rng)
	case coll.NeighborAllgather, coll.NeighborAllgatherv, coll.NeighborAlltoall, coll.NeighborAlltoallv,
		coll.NeighborAlltoallw:
		q.neighbors(rng)
	default:
		q.reduction(rng)
	}
	for i := range p {
		c := &q.calls[i]
		q.sends = append(q.sends, clone(c.Send))
		if rng.IntN(2) == 0 {
			c.SendBlocks, c.RecvBlocks = oneByOne(c.SendBlocks, c.Send), oneByOne(c.RecvBlocks, c.Recv)
		}
	}
	return q
}

// oneByOne gives the blocks of a buffer that has displacements themselves.
func oneByOne(l coll.Blocks, b []byte) coll.Blocks {
	if l.Displs == nil {
		return l
	}
	each := make([][]byte, len(l.Counts))
	for i := range each {
		each[i] = block(b, l, i)
	}
	return coll.Blocks{Each: each}
}

// rooted is a gather, or a scatter, which is the same the other way round.
func (q *problem) rooted(rng *rand.Rand) {
	l, all := uniform(q.n), q.n*q.p
	if q.op == coll.Gatherv || q.op == coll.Scatterv {
		l, all = layout(q.sizes(rng), rng)
	}
	whole := vector(all, rng)
	if q.op == coll.Scatter || q.op == coll.Scatterv {
		for i := range q.p {
			c := &q.calls[i]
			q.want[i] = block(whole, l, i)
			c.Recv = garbage(len(q.want[i]) / elem)
			if i == q.root {
				c.Send, c.SendBlocks = whole, l
				if q.inPlace {
					c.InPlace, c.Recv, q.want[i] = true, nil, nil
				}
			}
		}
		return
	}
	got := garbage(all)
	for i := range q.p {
		q.calls[i].Send = clone(block(whole, l, i))
		copy(block(got, l, i), q.calls[i].Send)
	}
	c := &q.calls[q.root]
	c.RecvBlocks, c.Recv, q.want[q.root] = l, garbage(all), got
	if q.inPlace {
		copy(block(c.Recv, l, q.root), c.Send)
		c.InPlace, c.Send = true, nil
	}
}

func (q *problem) allgather(rng *rand.Rand) {
	sizes := make([]int, q.p)
	for i := range sizes {
		sizes[i] = q.n
	}
	if q.op == coll.Allgatherv {
		sizes = q.sizes(rng)
	}
	in := make([][]byte, q.p)
	for i := range in {
		in[i] = vector(sizes[i], rng)
	}
	for i := range q.p {
		l, all := uniform(q.n), q.n*q.p
		if q.op == coll.Allgatherv {
			l, all = layout(sizes, rng) // every rank may place them otherwise
		}
		c := &q.calls[i]
		c.RecvBlocks, c.Recv, q.want[i] = l, garbage(all), garbage(all)
		for j := range in {
			copy(block(q.want[i], l, j), in[j])
		}
		if q.inPlace {
			c.InPlace = true
			copy(block(c.Recv, l, i), in[i])
		} else {
			c.Send = in[i]
		}
	}
}

func (q *problem) alltoall(rng *rand.Rand) {
	matrix := make([][]int, q.p) // from, to
	for i := range matrix {
		matrix[i] = q.sizes(rng)
	}
	for i := range q.p {
		for j := range q.p {
			if q.op == coll.Alltoall {
				matrix[i][j] = q.n
			} else if q.inPlace && j < i {
				matrix[i][j] = matrix[j][i] // what goes and what comes have one place
			}
		}
	}
	out := make([][]byte, q.p)
	outLayout := make([]coll.Blocks, q.p)
	for i := range q.p {
		l, all := uniform(q.n), q.n*q.p
		if q.op != coll.Alltoall {
			l, all = layout(matrix[i], rng)
		}
		out[i], outLayout[i] = vector(all, rng), l
	}
	for i := range q.p {
		c := &q.calls[i]
		l := outLayout[i]
		all := len(out[i]) / elem
		if !q.inPlace && q.op != coll.Alltoall {
			column := make([]int, q.p)
			for j := range column {
				column[j] = matrix[j][i]
			}
			l, all = layout(column, rng)
		}
		c.RecvBlocks = l
		if q.inPlace {
			c.InPlace, c.Recv = true, clone(out[i])
		} else {
			c.Send, c.SendBlocks, c.Recv = out[i], outLayout[i], garbage(all)
		}
		q.want[i] = clone(c.Recv)
		for j := range q.p {
			copy(block(q.want[i], l, j), block(out[j], outLayout[j], i))
		}
	}
}

func (q *problem) reduction(rng *rand.Rand) {
	sizes := make([]int, q.p)
	total := q.n
	switch q.op {
	case coll.ReduceScatterBlock:
		total = q.n * q.p
		for i := range sizes {
			sizes[i] = q.n
		}
	case coll.ReduceScatter:
		sizes = q.sizes(rng)
		total = 0
		for _, n := range sizes {
			total += n
		}
	}
	in := make([][]byte, q.p)
	for i := range in {
		in[i] = vector(total, rng)
	}
	all := q.total(in)
	for i := range q.p {
		c := &q.calls[i]
		switch q.op {
		case coll.Reduce:
			if i == q.root {
				q.want[i] = all
			}
		case coll.Allreduce:
			q.want[i] = all
		case coll.Scan:
			q.want[i] = q.total(in[:i+1])
		case coll.Exscan:
			if q.want[i] = q.total(in[:i]); i == 0 {
				q.want[i] = garbage(total)
			}
		case coll.ReduceScatter, coll.ReduceScatterBlock:
			c.RecvBlocks = coll.Blocks{Unit: elem, Counts: sizes}
			if q.op == coll.ReduceScatterBlock {
				c.RecvBlocks = uniform(q.n)
			}
			q.want[i] = block(all, c.RecvBlocks, i)
		}
		if q.inPlace && (q.op != coll.Reduce || i == q.root) {
			c.InPlace, c.Recv = true, clone(in[i])
			switch {
			case len(q.want[i]) < len(c.Recv):
				q.want[i] = append(clone(q.want[i]), in[i][len(q.want[i]):]...)
			case q.op == coll.Exscan && i == 0:
				q.want[i] = in[i]
			}
			continue
		}
		c.Send = in[i]
		if q.want[i] != nil {
			c.Recv = garbage(len(q.want[i]) / elem)
		}
	}
}

// neighbors makes a random directed graph with repeated and missing edges; for
// an even root a Cartesian ring instead.
func (q *problem) neighbors(rng *rand.Rand) {
	sources, dests := make([][]int, q.p), make([][]int, q.p)
	type edge struct{ from, at int } // the at-th destination of a rank
	arrivals := make([][]edge, q.p)  // of each source list
	if q.root%2 == 0 {
		for i := range q.p {
			below, above := (i+q.p-1)%q.p, (i+1)%q.p
			sources[i], dests[i] = []int{below, above}, []int{below, above}
			arrivals[i] = []edge{{below, 1}, {above, 0}}
			q.calls[i].Cartesian = true
			if q.root == 2 { // the ends do not meet
				if i == 0 {
					sources[i][0], dests[i][0] = -1, -1
				}
				if i == q.p-1 {
					sources[i][1], dests[i][1] = -1, -1
				}
			}
		}
	} else {
		for from := range q.p {
			for range rng.IntN(4) {
				to := rng.IntN(q.p)
				dests[from] = append(dests[from], to)
				sources[to] = append(sources[to], from)
				arrivals[to] = append(arrivals[to], edge{from, len(dests[from]) - 1})
			}
		}
	}
	gather := q.op == coll.NeighborAllgather || q.op == coll.NeighborAllgatherv
	vary := q.op != coll.NeighborAllgather && q.op != coll.NeighborAlltoall
	outLayout := make([]coll.Blocks, q.p)
	for i := range q.p {
		c := &q.calls[i]
		c.Sources, c.Dests = sources[i], dests[i]
		sizes := make([]int, max(len(dests[i]), 1))
		size := rng.IntN(q.n + 1)
		for j := range sizes {
			switch {
			case gather && vary:
				sizes[j] = size
			case vary:
				sizes[j] = rng.IntN(q.n + 1)
			default:
				sizes[j] = q.n
			}
		}
		if gather {
			c.Send = vector(sizes[0], rng)
			outLayout[i] = coll.Blocks{Unit: elem, Counts: sizes}
			continue
		}
		l, all := layout(sizes, rng)
		if !vary {
			l, all = uniform(q.n), q.n*len(sizes)
		}
		c.Send, c.SendBlocks, outLayout[i] = vector(all, rng), l, l
	}
	for i := range q.p {
		c := &q.calls[i]
		sizes := make([]int, len(sources[i]))
		for j, e := range arrivals[i] {
			if sources[i][j] >= 0 {
				sizes[j] = count(outLayout[e.from], e.at)
			}
		}
		l, all := layout(sizes, rng)
		if !vary {
			l, all = uniform(q.n), q.n*len(sizes)
		}
		c.RecvBlocks, c.Recv, q.want[i] = l, garbage(all), garbage(all)
		for j, e := range arrivals[i] {
			if sources[i][j] < 0 {
				continue
			}
			from := q.calls[e.from].Send
			if !gather {
				from = block(from, outLayout[e.from], e.at)
			}
			copy(block(q.want[i], l, j), from)
		}
	}
}

func count(l coll.Blocks, i int) int {
	if l.Counts == nil {
		return l.N
	}
	return l.Counts[i]
}

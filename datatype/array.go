package datatype

import "slices"

// Order is how a multidimensional array lies in memory.
type Order uint8

// Orders of arrays.
const (
	OrderC       Order = 1 + iota // the last index changes fastest (MPI_ORDER_C)
	OrderFortran                  // the first index changes fastest (MPI_ORDER_FORTRAN)
)

// Distribution is how one dimension of an array is dealt out to processes.
type Distribution uint8

// Distributions of Darray.
const (
	DistributeNone   Distribution = 1 + iota // not at all
	DistributeBlock                          // one block a process
	DistributeCyclic                         // blocks in turn
)

// DistributeDefault asks for the default argument of a distribution: blocks that
// cover the dimension, or single elements in turn (MPI_DISTRIBUTE_DFLT_DARG).
const DistributeDefault = -1

// Subarray makes the type of a part of an n-dimensional array of elements of t:
// subsizes[i] elements from starts[i] on in dimension i, which has sizes[i]. Its
// extent is that of the whole array (MPI_Type_create_subarray).
func Subarray(sizes, subsizes, starts []int, order Order, t *Type) (*Type, error) {
	b := start("Subarray", Envelope{Combiner: CombinerSubarray,
		Ints: slices.Concat([]int{len(sizes)}, sizes, subsizes, starts, []int{int(order)}), Types: []*Type{t}})
	if !b.array(len(sizes), order, t, len(subsizes), len(starts)) {
		return b.finish()
	}
	var a array
	for _, d := range dimensions(len(sizes), order) {
		if sizes[d] < 1 || subsizes[d] < 1 || starts[d] < 0 || subsizes[d] > sizes[d]-starts[d] {
			b.fail(ErrArg, "dimension %d of size %d has no %d elements from %d on", d, sizes[d], subsizes[d], starts[d])
			return b.finish()
		}
		a.dimension(b, t, sizes[d], []run{{starts[d], 1, 0, subsizes[d]}})
	}
	return a.finish(b, t)
}

// Darray makes the type of what the process rank of size processes holds of an
// n-dimensional array of elements of t. Dimension i has gsizes[i] elements, dealt
// out as distribs[i] and its argument dargs[i] say to psizes[i] processes; the
// processes form a grid in row-major order (MPI_Type_create_darray).
func Darray(size, rank int, gsizes []int, distribs []Distribution, dargs, psizes []int, order Order,
	t *Type) (*Type, error) {
	ints := slices.Concat([]int{size, rank, len(gsizes)}, gsizes)
	for _, d := range distribs {
		ints = append(ints, int(d))
	}
	b := start("Darray", Envelope{Combiner: CombinerDarray,
		Ints: slices.Concat(ints, dargs, psizes, []int{int(order)}), Types: []*Type{t}})
	if !b.array(len(gsizes), order, t, len(distribs), len(dargs), len(psizes)) {
		return b.finish()
	}
	grid := 1
	for _, p := range psizes {
		if p < 1 {
			b.fail(ErrArg, "a dimension of the grid has %d processes", p)
			return b.finish()
		}
		grid = b.times(grid, p)
	}
	if b.err == nil && grid != size || rank < 0 || rank >= size {
		b.fail(ErrArg, "rank %d of %d processes in a grid of %d", rank, size, grid)
	}
	if b.err != nil {
		return b.finish()
	}
	coords := make([]int, len(psizes))
	for i := len(psizes) - 1; i >= 0; i-- {
		coords[i], rank = rank%psizes[i], rank/psizes[i]
	}
	var a array
	for _, d := range dimensions(len(gsizes), order) {
		a.dimension(b, t, gsizes[d], b.deal(d, gsizes[d], distribs[d], dargs[d], psizes[d], coords[d]))
		if b.err != nil {
			return b.finish()
		}
	}
	return a.finish(b, t)
}

// array checks what Subarray and Darray have in common.
func (b *builder) array(n int, order Order, t *Type, lengths ...int) bool {
	if n == 0 {
		b.fail(ErrArg, "an array of no dimensions")
	}
	for _, l := range lengths {
		if l != n {
			b.fail(ErrArg, "arguments for %d and %d dimensions", n, l)
		}
	}
	if order != OrderC && order != OrderFortran {
		b.fail(ErrArg, "there is no order %d", order)
	}
	return b.valid(t)
}

// dimensions lists the dimensions from the fastest to the slowest.
func dimensions(n int, order Order) []int {
	d := make([]int, n)
	for i := range d {
		d[i] = i
		if order == OrderC {
			d[i] = n - 1 - i
		}
	}
	return d
}

// run is part of a dimension: count blocks of length elements, stride elements
// apart, from first on.
type run struct{ first, count, stride, length int }

// deal returns the elements of a dimension that the process at coord of procs
// holds.
func (b *builder) deal(d, n int, dist Distribution, arg, procs, coord int) []run {
	if n < 1 {
		b.fail(ErrArg, "dimension %d has %d elements", d, n)
		return nil
	}
	if arg != DistributeDefault && arg < 1 {
		b.fail(ErrArg, "dimension %d has the distribution argument %d", d, arg)
		return nil
	}
	size := arg
	switch dist {
	case DistributeNone:
		if procs != 1 {
			b.fail(ErrArg, "dimension %d is not distributed but has %d processes", d, procs)
		}
		return []run{{0, 1, 0, n}}
	case DistributeBlock:
		if arg == DistributeDefault {
			size = (n + procs - 1) / procs
		} else if size < (n+procs-1)/procs {
			b.fail(ErrArg, "blocks of %d do not cover the %d elements of dimension %d on %d processes", size, n, d,
				procs)
		}
	case DistributeCyclic:
		if arg == DistributeDefault {
			size = 1
		}
	default:
		b.fail(ErrArg, "there is no distribution %d", dist)
		return nil
	}
	if size > n {
		size = n // so that products stay small
	}
	first, step := coord*size, procs*size
	if b.times(procs, size); b.err != nil || first >= n {
		return nil
	}
	whole := (n - first) / step
	if n-first-whole*step >= size {
		return []run{{first, whole + 1, step, size}}
	}
	var rs []run
	if whole > 0 {
		rs = append(rs, run{first, whole, step, size})
	}
	if rest := n - first - whole*step; rest > 0 {
		rs = append(rs, run{first + whole*step, 1, 0, rest})
	}
	return rs
}

// array builds the layout of an array from its fastest dimension on.
type array struct {
	inner    node
	begun    bool
	extent   int // bytes of the dimensions so far, all of them
	elements int // held, in the dimensions so far
	lo, hi   int // displacement of the first and last held element
}

func (a *array) dimension(b *builder, t *Type, size int, runs []run) {
	if !a.begun {
		*a = array{inner: t.root, begun: true, extent: t.ub - t.lb, elements: 1}
	}
	inner := a.inner // the copies keep it
	var nodes []node
	held := 0
	lo, hi := 0, 0
	for i, r := range runs {
		row := repeat(&inner, r.length, a.extent)
		n := repeat(&row, r.count, b.times(r.stride, a.extent))
		n.off += b.times(r.first, a.extent)
		nodes = append(nodes, n)
		held += r.count * r.length
		if i == 0 {
			lo = r.first
		}
		hi = r.first + (r.count-1)*r.stride + r.length - 1
	}
	a.lo += b.times(lo, a.extent)
	a.hi += b.times(hi, a.extent)
	a.inner = concat(nodes)
	a.elements = b.times(a.elements, held)
	a.extent = b.times(a.extent, size)
}

func (a *array) finish(b *builder, t *Type) (*Type, error) {
	b.align = t.align
	b.parts = []part{{a.elements, t}}
	if b.err == nil && a.elements > 0 {
		b.nodes = []node{a.inner}
		b.bounds.place(t, a.lo, a.hi)
	}
	b.give(0, a.extent)
	return b.finish()
}

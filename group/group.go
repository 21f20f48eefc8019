// Package group has the ordered sets of ranks that communicators are made of
// (MPI_Group). It is pure: no rank, no communicator, no messages.
//
// A Group maps a rank in it to a rank of the job. It never changes, so it may be
// shared by communicators and goroutines. Groups as programs make them are
// regular: the world, a row or a column of a grid, every fourth rank. They are
// held as a few runs of constant stride, whatever their size; only a group
// that has no such form holds a table.
//
//	group.go    the two forms, and look-up
//	build.go    finding the runs of a list
//	derive.go   inclusion, exclusion, ranges (MPI_Group_incl and its like)
//	algebra.go  union, intersection, difference, translation, comparison
package group

import (
	"iter"
	"sort"
)

// None is the rank of a process that is not in a group.
const None int32 = -1

// Group is an ordered set of ranks of the job. The nil Group is empty.
type Group struct {
	size  int32
	runs  []run   // in the order of ranks; nil where there is a table
	table []int32 // by rank
}

// run is the part of a group whose ranks at, at+1, ... are first, first+stride,
// ... in the job.
type run struct {
	at, first, stride, n int32
}

// rank returns the place of a rank of the job in the run, None if it has none.
func (r run) rank(world int32) int32 {
	d := world - r.first
	if r.n == 1 || d == 0 {
		if d == 0 {
			return r.at
		}
		return None
	}
	if i := d / r.stride; d%r.stride == 0 && i >= 0 && i < r.n {
		return r.at + i
	}
	return None
}

// Identity is the group of the ranks 0 to n-1.
func Identity(n int) *Group {
	if n == 0 {
		return nil
	}
	return &Group{size: int32(n), runs: []run{{stride: 1, n: int32(n)}}}
}

// Size is the number of ranks in the group.
func (g *Group) Size() int {
	if g == nil {
		return 0
	}
	return int(g.size)
}

// World returns the rank in the job of a rank of the group, which must have it.
func (g *Group) World(rank int32) int32 {
	if len(g.runs) == 1 {
		return g.runs[0].first + rank*g.runs[0].stride
	}
	return g.search(rank)
}

func (g *Group) search(rank int32) int32 {
	if g.table != nil {
		return g.table[rank]
	}
	i := sort.Search(len(g.runs), func(i int) bool { return g.runs[i].at > rank }) - 1
	return g.runs[i].first + (rank-g.runs[i].at)*g.runs[i].stride
}

// Rank returns the rank in the group of a rank of the job, None if it is not in
// it. That takes time if the group is not Regular.
func (g *Group) Rank(world int32) int32 {
	if g == nil {
		return None
	}
	if len(g.runs) == 1 && g.runs[0].stride == 1 { // most groups
		if i := world - g.runs[0].first; i >= 0 && i < g.size {
			return i
		}
		return None
	}
	for i, w := range g.table {
		if w == world {
			return int32(i)
		}
	}
	for _, r := range g.runs {
		if i := r.rank(world); i != None {
			return i
		}
	}
	return None
}

// Regular reports whether Rank is computed without looking at many members.
func (g *Group) Regular() bool { return g == nil || g.table == nil && len(g.runs) < manyRuns }

// Has reports whether a rank of the job is in the group.
func (g *Group) Has(world int32) bool { return g.Rank(world) != None }

// All yields the ranks of the job in the order of the group.
func (g *Group) All() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if g == nil {
			return
		}
		for _, w := range g.table {
			if !yield(w) {
				return
			}
		}
		for _, r := range g.runs {
			for i := range r.n {
				if !yield(r.first + i*r.stride) {
					return
				}
			}
		}
	}
}

// manyRuns is from where on a look-up of many ranks is worth a map.
const manyRuns = 8

// finder returns a function that does what Rank does, for many look-ups.
func (g *Group) finder() func(world int32) int32 {
	if g.Regular() {
		return g.Rank
	}
	m := make(map[int32]int32, g.size)
	var i int32
	for w := range g.All() {
		m[w] = i
		i++
	}
	return func(world int32) int32 {
		if i, ok := m[world]; ok {
			return i
		}
		return None
	}
}

package group

import (
	"errors"
	"fmt"
)

// Errors of the functions that take lists of ranks.
var (
	// ErrRank: a list names a rank that the group has not.
	ErrRank = errors.New("no such rank in the group")
	// ErrTwice: a list names a rank twice.
	ErrTwice = errors.New("rank is given twice")
	// ErrStride: a range has stride 0.
	ErrStride = errors.New("stride of a range is 0")
)

// Range is the ranks First, First+Stride, ... up to Last (MPI_Group_range_incl).
type Range struct{ First, Last, Stride int }

// Incl is the group of the given ranks of g, in the order of the list
// (MPI_Group_incl).
func (g *Group) Incl(ranks []int) (*Group, error) {
	var b builder
	err := g.each(ranks, func(r int32) { b.add(g.World(r)) })
	return b.group(), err
}

// Excl is g without the given ranks, in the order of g (MPI_Group_excl).
func (g *Group) Excl(ranks []int) (*Group, error) {
	out := make(map[int32]bool, len(ranks))
	if err := g.each(ranks, func(r int32) { out[r] = true }); err != nil {
		return nil, err
	}
	var b builder
	var i int32
	for w := range g.All() {
		if !out[i] {
			b.add(w)
		}
		i++
	}
	return b.group(), nil
}

// RangeIncl is Incl of the ranks that the ranges name (MPI_Group_range_incl).
func (g *Group) RangeIncl(ranges []Range) (*Group, error) {
	ranks, err := g.expand(ranges)
	if err != nil {
		return nil, err
	}
	return g.Incl(ranks)
}

// RangeExcl is Excl of the ranks that the ranges name (MPI_Group_range_excl).
func (g *Group) RangeExcl(ranges []Range) (*Group, error) {
	ranks, err := g.expand(ranges)
	if err != nil {
		return nil, err
	}
	return g.Excl(ranks)
}

// each calls f for the ranks of a list after it has checked them.
func (g *Group) each(ranks []int, f func(int32)) error {
	seen := make(map[int]bool, len(ranks))
	for _, r := range ranks {
		if err := g.check(r); err != nil {
			return err
		}
		if seen[r] {
			return fmt.Errorf("%w: %d", ErrTwice, r)
		}
		seen[r] = true
	}
	for _, r := range ranks {
		f(int32(r))
	}
	return nil
}

func (g *Group) check(rank int) error {
	if rank < 0 || rank >= g.Size() {
		return fmt.Errorf("%w: %d of %d", ErrRank, rank, g.Size())
	}
	return nil
}

// expand lists the ranks of ranges. A range whose stride leads away from its
// Last is empty. Its ends are checked first, so that a mistake costs no memory.
func (g *Group) expand(ranges []Range) (ranks []int, err error) {
	for _, r := range ranges {
		if r.Stride == 0 {
			return nil, fmt.Errorf("%w: %d to %d", ErrStride, r.First, r.Last)
		}
		n := (r.Last-r.First)/r.Stride + 1
		if (r.Last-r.First < 0) != (r.Stride < 0) && r.Last != r.First {
			continue
		}
		for _, end := range []int{r.First, r.First + (n-1)*r.Stride} {
			if err := g.check(end); err != nil {
				return nil, err
			}
		}
		if len(ranks)+n > g.Size() {
			return nil, fmt.Errorf("%w: the ranges name %d ranks of %d", ErrTwice, len(ranks)+n, g.Size())
		}
		for i := range n {
			ranks = append(ranks, r.First+i*r.Stride)
		}
	}
	return ranks, nil
}

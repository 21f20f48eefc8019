package mpi

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/group"
)

// Undefined is the rank of a process that is not in a group, and the colour of a
// rank that wants no communicator of Split (MPI_UNDEFINED).
const Undefined = -32766

// Group is an ordered set of processes (MPI_Group). It does not change; there is
// nothing to free.
type Group struct {
	rank *rank
	set  *group.Group
}

// Relation says how two communicators or groups compare.
type Relation int

// Relations, see Comm.Compare and Group.Compare.
const (
	Ident     Relation = iota // the same communicator; or the same members in the same order
	Congruent                 // communicators of the same members in the same order
	Similar                   // the same members in another order
	Unequal
)

// Range is the ranks First, First+Stride, ... up to Last.
type Range = group.Range

// Group returns the group of the communicator (MPI_Comm_group), of an
// intercommunicator the caller's own. It returns nil if c can not be used.
func (c *Comm) Group() *Group {
	if c.usable("Group") != nil {
		return nil
	}
	return &Group{rank: c.rank, set: c.members}
}

// Size is the number of processes in the group (MPI_Group_size).
func (g *Group) Size() int {
	if g == nil {
		return 0
	}
	return g.set.Size()
}

// Rank is the caller's rank in the group, or Undefined (MPI_Group_rank).
func (g *Group) Rank() int {
	if g == nil {
		return Undefined
	}
	return defined(g.set.Rank(int32(g.rank.fab.Rank())))
}

func defined(rank int32) int {
	if rank == group.None {
		return Undefined
	}
	return int(rank)
}

// Incl is the group of the given ranks of g, in that order (MPI_Group_incl).
func (g *Group) Incl(ranks ...int) (*Group, error) {
	return g.derive("Group.Incl", func(s *group.Group) (*group.Group, error) { return s.Incl(ranks) })
}

// Excl is g without the given ranks (MPI_Group_excl).
func (g *Group) Excl(ranks ...int) (*Group, error) {
	return g.derive("Group.Excl", func(s *group.Group) (*group.Group, error) { return s.Excl(ranks) })
}

// RangeIncl is Incl of the ranks in ranges (MPI_Group_range_incl).
func (g *Group) RangeIncl(ranges ...Range) (*Group, error) {
	return g.derive("Group.RangeIncl", func(s *group.Group) (*group.Group, error) { return s.RangeIncl(ranges) })
}

// RangeExcl is Excl of the ranks in ranges (MPI_Group_range_excl).
func (g *Group) RangeExcl(ranges ...Range) (*Group, error) {
	return g.derive("Group.RangeExcl", func(s *group.Group) (*group.Group, error) { return s.RangeExcl(ranges) })
}

// Union has the processes of g, then those of h that are not in g
// (MPI_Group_union).
func (g *Group) Union(h *Group) (*Group, error) {
	return g.combine("Group.Union", h, group.Union)
}

// Intersection has the processes of g that are in h, in the order of g
// (MPI_Group_intersection).
func (g *Group) Intersection(h *Group) (*Group, error) {
	return g.combine("Group.Intersection", h, group.Intersection)
}

// Difference has the processes of g that are not in h, in the order of g
// (MPI_Group_difference).
func (g *Group) Difference(h *Group) (*Group, error) {
	return g.combine("Group.Difference", h, group.Difference)
}

// Translate returns the ranks in h of ranks of g: Undefined for processes that h
// has not, ProcNull for ProcNull (MPI_Group_translate_ranks).
func (g *Group) Translate(ranks []int, h *Group) ([]int, error) {
	if g == nil || h == nil {
		return nil, g.fail("Group.Translate", errNoGroup)
	}
	var real []int
	for _, r := range ranks {
		if r != ProcNull {
			real = append(real, r)
		}
	}
	found, err := group.Translate(g.set, real, h.set)
	if err != nil {
		return nil, g.fail("Group.Translate", err)
	}
	out := make([]int, len(ranks))
	for i, r := range ranks {
		if r == ProcNull {
			out[i] = ProcNull
			continue
		}
		out[i], found = defined(found[0]), found[1:]
	}
	return out, nil
}

// Compare tells whether the groups are Ident, Similar or Unequal
// (MPI_Group_compare).
func (g *Group) Compare(h *Group) Relation {
	if g == nil || h == nil {
		if g == h {
			return Ident
		}
		return Unequal
	}
	switch group.Compare(g.set, h.set) {
	case group.Ident:
		return Ident
	case group.Similar:
		return Similar
	}
	return Unequal
}

// Compare tells whether two communicators are the same (Ident), or of the same
// processes in the same order (Congruent) or another (Similar)
// (MPI_Comm_compare). Both must be of the calling rank.
func (c *Comm) Compare(d *Comm) (Relation, error) {
	if err := c.usable("Compare"); err != nil {
		return Unequal, err
	}
	if err := d.usable("Compare"); err != nil {
		return Unequal, err
	}
	if c == d {
		return Ident, nil
	}
	if c.rank != d.rank {
		return Unequal, c.fail("Compare", noValue, noValue, noValue,
			fmt.Errorf("%w: the other one is of another rank, or of another world", ErrComm),
			"compare communicators of the calling rank")
	}
	if (c.local == nil) != (d.local == nil) {
		return Unequal, nil
	}
	r := max(c.Group().Compare(d.Group()), Congruent)
	if c.local != nil {
		r = max(r, c.remoteGroup().Compare(d.remoteGroup()))
	}
	return r, nil
}

var errNoGroup = errors.New("there is no group: nil was passed")

func (g *Group) derive(op string, f func(*group.Group) (*group.Group, error)) (*Group, error) {
	if g == nil {
		return nil, g.fail(op, errNoGroup)
	}
	s, err := f(g.set)
	if err != nil {
		return nil, g.fail(op, err)
	}
	return &Group{rank: g.rank, set: s}, nil
}

func (g *Group) combine(op string, h *Group, f func(a, b *group.Group) *group.Group) (*Group, error) {
	if g == nil || h == nil {
		return nil, g.fail(op, errNoGroup)
	}
	return &Group{rank: g.rank, set: f(g.set, h.set)}, nil
}

// fail makes the error of a call on a group.
func (g *Group) fail(op string, err error) error {
	e := &Error{Op: op, Rank: noValue, Peer: noValue, Tag: noValue, Size: noValue}
	if g != nil {
		e.Rank = g.rank.fab.Rank()
	}
	sentinel, do := ErrArg, "give strides other than 0"
	switch {
	case errors.Is(err, group.ErrRank):
		sentinel, do = ErrRank, "ranks of this group are 0 to "+itoa(g.Size()-1)
	case errors.Is(err, group.ErrTwice):
		sentinel, do = ErrRank, "give each rank once"
	case err == errNoGroup:
		sentinel, do = ErrGroup, "use what Comm.Group and the methods of Group return"
	}
	e.Err, e.Do = because(sentinel, err), do
	return e
}

package group

// Relation says how two groups compare (MPI_Group_compare).
type Relation int

const (
	// Unequal groups have different members.
	Unequal Relation = iota
	// Similar groups have the same members in different order.
	Similar
	// Ident groups have the same members in the same order.
	Ident
)

// Union has the members of g, then those of h that are not in g
// (MPI_Group_union).
func Union(g, h *Group) *Group {
	var b builder
	for w := range g.All() {
		b.add(w)
	}
	h.filter(&b, g, false)
	return b.group()
}

// Intersection has the members of g that are in h, in the order of g
// (MPI_Group_intersection).
func Intersection(g, h *Group) *Group {
	var b builder
	g.filter(&b, h, true)
	return b.group()
}

// Difference has the members of g that are not in h, in the order of g
// (MPI_Group_difference).
func Difference(g, h *Group) *Group {
	var b builder
	g.filter(&b, h, false)
	return b.group()
}

// filter adds the members of g that are in h, or those that are not.
func (g *Group) filter(b *builder, h *Group, in bool) {
	find := h.finder()
	for w := range g.All() {
		if (find(w) != None) == in {
			b.add(w)
		}
	}
}

// Translate returns the ranks in h of the given ranks of g, None for those that
// h has not (MPI_Group_translate_ranks).
func Translate(g *Group, ranks []int, h *Group) ([]int32, error) {
	out := make([]int32, len(ranks))
	find := h.Rank
	if len(ranks) > manyRuns {
		find = h.finder()
	}
	for i, r := range ranks {
		if err := g.check(r); err != nil {
			return nil, err
		}
		out[i] = find(g.World(int32(r)))
	}
	return out, nil
}

// Compare compares two groups.
func Compare(g, h *Group) Relation {
	if g == h {
		return Ident
	}
	if g.Size() != h.Size() {
		return Unequal
	}
	find := h.finder()
	result := Ident
	var i int32
	for w := range g.All() {
		switch find(w) {
		case i:
		case None:
			return Unequal
		default:
			result = Similar
		}
		i++
	}
	return result
}

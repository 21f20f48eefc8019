package datatype

// Type is a datatype (MPI_Datatype). The zero Type is not valid.
type Type struct {
	name           string // of predefined types
	size           int    // bytes of data
	lb, ub         int    // ub - lb is the extent
	trueLB, trueUB int    // of the data alone
	marked         bool   // lb and ub were given (Resized, Subarray, Darray): see bounds
	align          int    // of the widest element
	elements       int    // basic elements
	kind           Kind   // of all elements, 0 if they differ
	basic          *Type  // of that kind
	root           node
	parts          []part // the signature; nil: one basic element
	env            Envelope
}

// part is a run of elements of the signature.
type part struct {
	count int
	t     *Type
}

// Size is the bytes of data in one element (MPI_Type_size).
func (t *Type) Size() int { return t.size }

// Extent returns the lower bound and the extent in bytes: the distance from one
// element to the next (MPI_Type_get_extent).
func (t *Type) Extent() (lb, extent int) { return t.lb, t.ub - t.lb }

// TrueExtent returns the displacement of the first byte of data and the distance
// to the end of the last (MPI_Type_get_true_extent).
func (t *Type) TrueExtent() (lb, extent int) { return t.trueLB, t.trueUB - t.trueLB }

// Kind is the kind of all elements, 0 if there are several or none.
func (t *Type) Kind() Kind { return t.kind }

// Elements is the number of basic elements; a pair counts as two.
func (t *Type) Elements() int { return t.elements }

// Blocks is the number of contiguous pieces that the data of one element lie in.
func (t *Type) Blocks() int { return t.root.blocks }

// Dense reports whether any number of elements in a row leave no gap.
func (t *Type) Dense() bool {
	return t.root.op == opBlock && t.root.off == 0 && t.root.block == t.ub-t.lb || t.size == 0
}

// Basic returns the predefined type, or pair, of all elements, which reductions
// compute with: nil if there are several kinds or none.
func (t *Type) Basic() *Type { return t.basic }

// bounds collects the bounds of a type under construction. Where some of its
// parts have bounds that were given, only those count: the standard's lb_marker
// and ub_marker.
type bounds struct {
	lb, ub, trueLB, trueUB int
	any, anyTrue, marked   bool
}

// place adds copies of t at the displacements first and last, and any between.
func (b *bounds) place(t *Type, first, last int) {
	lo, hi := min(first, last), max(first, last)
	if t.size > 0 {
		l, u := lo+t.trueLB, hi+t.trueUB
		if b.anyTrue {
			l, u = min(l, b.trueLB), max(u, b.trueUB)
		}
		b.trueLB, b.trueUB, b.anyTrue = l, u, true
	}
	if t.size == 0 && !t.marked || b.marked && !t.marked {
		return
	}
	l, u := lo+t.lb, hi+t.ub
	if b.any && b.marked == t.marked {
		l, u = min(l, b.lb), max(u, b.ub)
	}
	b.lb, b.ub, b.any, b.marked = l, u, true, t.marked
}

package explore

import (
	"iter"

	"github.com/exanet-mpi/exanet/check/world"
)

// Family is a set of programs that begin alike: each rank executes its part of
// Prefix, and then one of the operations in Last, or none.
type Family struct {
	Prefix world.Program
	Last   [][]world.Op // by rank; nil: nobody has a choice
	Size   int          // programs in it

	// wanted says which choices make a program of the family, and begins
	// which can still become one. The index of a choice is that of World.Chosen,
	// times one for rank 0, and times len(Last[0])+1 for rank 1.
	wanted, begins []bool
}

// Single is the family of one program.
func Single(p world.Program) Family { return Family{Prefix: p, Size: 1} }

// Singles makes a family of each program.
func Singles(programs iter.Seq[world.Program]) iter.Seq[Family] {
	return func(yield func(Family) bool) {
		for p := range programs {
			if !yield(Single(p)) {
				return
			}
		}
	}
}

// family makes the family of the programs of two ranks that keep allows.
func family(prefix world.Program, last [][]world.Op, keep func(k, l int, p world.Program) bool) Family {
	f := Family{Prefix: prefix, Last: last}
	n0, n1 := len(last[0])+1, len(last[1])+1
	f.wanted, f.begins = make([]bool, n0*n1), make([]bool, n0*n1)
	for i := range n0 {
		for j := range n1 {
			p := world.Program{with(prefix[0], last[0], i), with(prefix[1], last[1], j)}
			if !keep(i, j, p) {
				continue
			}
			f.Size++
			f.wanted[i+n0*j] = true
			for _, k := range []int{i + n0*j, i, n0 * j, 0} {
				f.begins[k] = true
			}
		}
	}
	return f
}

// with appends choice n, 0 being none.
func with(ops, choices []world.Op, n int) []world.Op {
	if n == 0 {
		return ops
	}
	return append(ops[:len(ops):len(ops)], choices[n-1])
}

func (f *Family) index(w *world.World) int { return w.Chosen(0) + (len(f.Last[0])+1)*w.Chosen(1) }

// settled reports whether in a state with these actions nothing is left to
// happen in one of the family's programs.
func (f *Family) settled(w *world.World, acts []world.Action) bool {
	for _, a := range acts {
		if !a.Executes() || a.N == 0 {
			return false
		}
	}
	return f.Last == nil || f.wanted[f.index(w)]
}

// allowed keeps the actions that lead to one of the family's programs.
func (f *Family) allowed(w *world.World, acts []world.Action) []world.Action {
	if f.Last == nil {
		return acts
	}
	keep := acts[:0]
	for _, a := range acts {
		k := f.index(w)
		if a.Executes() && a.N > 0 {
			n := int(a.N)
			if a.From == 1 {
				n *= len(f.Last[0]) + 1
			}
			k += n
		}
		if f.begins[k] {
			keep = append(keep, a)
		}
	}
	return keep
}

// chosen returns the program that actions have chosen, and the actions in terms
// of it.
func (f *Family) chosen(path []world.Action) (world.Program, []world.Action) {
	p := append(world.Program(nil), f.Prefix...)
	acts := append([]world.Action(nil), path...)
	for i, a := range acts {
		if a.Executes() && a.N > 0 {
			p[a.From] = with(p[a.From], f.Last[a.From], int(a.N))
			acts[i].N = 0
		}
	}
	return p, acts
}

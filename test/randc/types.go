package randc

import (
	"fmt"

	"github.com/exanet-mpi/exanet/datatype"
)

// unit is what messages consist of, whatever their layout: the sender's type and the
// receiver's are made of the same units.
type unit struct {
	fields []field
	size   int
}

type field struct {
	c string
	t *datatype.Type
	n int
}

// ctype is a datatype of the program, n units, with what the generator knows of it.
type ctype struct {
	c string // in C
	n int
	t *datatype.Type
}

var basics = []field{
	{"MPI_CHAR", datatype.Int8, 1}, {"MPI_SHORT", datatype.Int16, 1}, {"MPI_INT", datatype.Int32, 1},
	{"MPI_LONG", datatype.Int64, 1},
	{"MPI_FLOAT", datatype.Float32, 1}, {"MPI_DOUBLE", datatype.Float64, 1}, {"MPI_UNSIGNED_CHAR", datatype.Uint8, 1},
	{"MPI_C_DOUBLE_COMPLEX", datatype.Complex128, 1},
}

// drawTypes draws units, and some types of each, of which the first is the unit.
func (g *generator) drawTypes() {
	for i := range 3 {
		var u unit
		for range 1 + i/2*(1+g.IntN(2)) {
			f := pick(g, basics...)
			f.n += i / 2 * g.IntN(3)
			u.fields = append(u.fields, f)
			u.size += f.n * f.t.Size()
		}
		one := u.whole(g)
		list := []*ctype{one}
		for range 3 {
			list = append(list, g.drawType(&u, 1+g.IntN(2)))
		}
		for _, t := range list {
			if t.c[0] == 't' {
				g.typeLine("E(MPI_Type_commit(&%s));", t.c)
				lb, extent := t.t.Extent()
				tlb, text := t.t.TrueExtent()
				if len(u.fields) > 1 {
					g.typeLine("mixed_types[nmixed++] = %s;", t.c)
				}
				g.typeLine("expect(%s, %d, %d, %d, %d, %d);", t.c[2:len(t.c)-1], lb, extent, tlb, text, t.t.Size())
			}
		}
		g.units, g.types = append(g.units, u), append(g.types, list)
	}
}

func (g *generator) typeLine(format string, args ...any) {
	fmt.Fprintf(&g.typeCode, "\t"+format+"\n", args...)
}

// whole makes the type of one unit, its fields in any order in memory.
func (u *unit) whole(g *generator) *ctype {
	if len(u.fields) == 1 {
		return &ctype{u.fields[0].c, 1, u.fields[0].t}
	}
	lens, displs := make([]int, len(u.fields)), make([]int, len(u.fields))
	types, names := make([]*datatype.Type, len(u.fields)), make([]string, len(u.fields))
	at := 8 * g.IntN(2)
	for _, i := range g.Perm(len(u.fields)) {
		f := u.fields[i]
		lens[i], displs[i], types[i], names[i] = f.n, at, f.t, f.c
		at += f.n*f.t.Size() + pick(g, 0, 4, 7)
	}
	return g.enclosed(g.made(1, must(datatype.Struct(lens, displs, types)),
		"MPI_Type_create_struct(%d, (int[])%s, (MPI_Aint[])%s, (MPI_Datatype[])%s", len(lens), braces(lens),
		braces(displs), braces(names)))
}

// made writes the call that makes a type, which lacks its end.
func (g *generator) made(n int, t *datatype.Type, format string, args ...any) *ctype {
	c := fmt.Sprintf("t[%d]", g.typeCount)
	g.typeCount++
	g.typeLine("E("+format+", &%s));", append(args, c)...)
	return &ctype{c, n, t}
}

// drop frees a type that others have been made of.
func (g *generator) drop(t *ctype) {
	if t.c[0] == 't' {
		g.typeLine("E(MPI_Type_free(&%s));", t.c)
	}
}

// enclosed gives a type bounds that hold all its data, so that no elements overlap.
func (g *generator) enclosed(t *ctype) *ctype {
	lb, extent := t.t.TrueExtent()
	_, had := t.t.Extent()
	if g.oneIn(3) {
		lb -= pick(g, 0, 3, 16)
		extent += 20
	}
	extent = max(extent, had)
	r := g.made(t.n, must(datatype.Resized(t.t, lb, extent)), "MPI_Type_create_resized(%s, %d, %d", t.c, lb, extent)
	g.drop(t)
	return r
}

// drawType draws a type, constructors nested depth times.
func (g *generator) drawType(u *unit, depth int) *ctype {
	if depth == 0 {
		return u.whole(g)
	}
	in := g.drawType(u, depth-1)
	defer g.drop(in)
	_, extent := in.t.Extent()
	n, length := 1+g.IntN(4), 1+g.IntN(3)
	gap := g.IntN(3)
	switch g.IntN(9) {
	case 0:
		return g.made(n*in.n, must(datatype.Contiguous(n, in.t)), "MPI_Type_contiguous(%d, %s", n, in.c)
	case 1:
		return g.enclosed(g.made(n*length*in.n, must(datatype.Vector(n, length, length+gap, in.t)),
			"MPI_Type_vector(%d, %d, %d, %s", n, length, length+gap, in.c))
	case 2:
		stride := -(length*extent + gap)
		return g.enclosed(g.made(n*length*in.n, must(datatype.Hvector(n, length, stride, in.t)),
			"MPI_Type_create_hvector(%d, %d, %d, %s", n, length, stride, in.c))
	case 3:
		displs := g.Perm(n)
		for i := range displs {
			displs[i] = displs[i]*(length+gap) - length
		}
		return g.enclosed(g.made(n*length*in.n, must(datatype.IndexedBlock(length, displs, in.t)),
			"MPI_Type_create_indexed_block(%d, %d, (int[])%s, %s", n, length, braces(displs), in.c))
	case 4, 5:
		lens, displs, total := make([]int, n), make([]int, n), 0
		for at, i := range g.Perm(n) {
			lens[i], displs[i] = g.IntN(length+1), at*(length+gap)
			total += lens[i]
		}
		if total == 0 {
			lens[0], total = 1, 1
		}
		if g.oneIn(2) {
			return g.enclosed(g.made(total*in.n, must(datatype.Indexed(lens, displs, in.t)),
				"MPI_Type_indexed(%d, (int[])%s, (int[])%s, %s", n, braces(lens), braces(displs), in.c))
		}
		for i := range displs {
			displs[i] = displs[i]*extent + i%2
		}
		return g.enclosed(g.made(total*in.n, must(datatype.Hindexed(lens, displs, in.t)),
			"MPI_Type_create_hindexed(%d, (int[])%s, (MPI_Aint[])%s, %s", n, braces(lens), braces(displs), in.c))
	case 6:
		other := g.drawType(u, depth-1)
		defer g.drop(other)
		_, size := other.t.Extent()
		lb, _ := other.t.Extent()
		displs := []int{length*extent + gap, 0, length*extent + extent + 2*gap - lb + max(0, size)}
		if l, _ := in.t.Extent(); l > 0 {
			displs[2] += l
		}
		t := must(datatype.Struct([]int{1, length, 1}, displs, []*datatype.Type{in.t, in.t, other.t}))
		return g.enclosed(g.made((1+length)*in.n+other.n, t,
			"MPI_Type_create_struct(3, (int[]){1, %d, 1}, (MPI_Aint[])%s, (MPI_Datatype[]){%s, %s, %s}", length,
			braces(displs), in.c, in.c, other.c))
	case 7:
		sizes := []int{n + 1, length + 1, 1 + g.IntN(3)}
		subs := []int{1 + g.IntN(sizes[0]), 1 + g.IntN(sizes[1]), 1 + g.IntN(sizes[2])}
		starts := []int{g.IntN(sizes[0] - subs[0] + 1), g.IntN(sizes[1] - subs[1] + 1), g.IntN(sizes[2] - subs[2] + 1)}
		order, c := datatype.OrderC, "MPI_ORDER_C"
		if g.oneIn(2) {
			order, c = datatype.OrderFortran, "MPI_ORDER_FORTRAN"
		}
		return g.made(subs[0]*subs[1]*subs[2]*in.n, must(datatype.Subarray(sizes, subs, starts, order, in.t)),
			"MPI_Type_create_subarray(3, (int[])%s, (int[])%s, (int[])%s, %s, %s", braces(sizes), braces(subs),
			braces(starts), c, in.c)
	default:
		return g.made(in.n, must(datatype.Dup(in.t)), "MPI_Type_dup(%s", in.c)
	}
}

// wide is what MPICH 4.0.2 takes of units of several fields: it says that a longer
// message is truncated, if it is sent from contiguous memory.
const wide = 8000

// side is one end of a message: count elements of a type.
type side struct {
	t     *ctype
	count int
}

// units that a side has.
func (s side) units() int { return s.t.n * s.count }

// sideOf draws a type for at least n units.
func (g *generator) sideOf(unit, n int) side {
	t := pick(g, g.types[unit]...)
	return side{t, (n + t.n - 1) / t.n}
}

// exactly draws a type for just n units.
func (g *generator) exactly(unit, n int) side {
	for {
		if s := g.sideOf(unit, n); s.units() == n {
			return s
		}
	}
}

func must(t *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

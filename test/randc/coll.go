package randc

import (
	"fmt"
	"slices"
	"strings"
)

// part is the call of one member: its arguments but the communicator, the transfer
// whose request is used, and what is said at the end.
type part struct {
	args string
	id   int
	say  string
}

// call writes a collective in one of its forms.
func (g *generator) call(c *comm, name string, parts []part) {
	form := g.IntN(5)
	for at, r := range c.members {
		p := parts[at]
		if p.args != "" {
			p.args += ", "
		}
		p.args += cname(c.id)
		switch form {
		case 0, 1:
			g.emit(r, "E(MPI_%s(%s));", name, p.args)
			g.emit(r, "%s", p.say)
		case 2, 3:
			g.emit(r, "E(MPI_I%s(%s, &x[%d].r));", strings.ToLower(name[:1])+name[1:], p.args, p.id)
			g.later(r, request{ids: []int{p.id}, say: p.say})
			if g.oneIn(2) {
				g.someLater(r, 0)
			}
		default:
			g.emit(r, "#if MPI_VERSION >= 4")
			g.emit(r, "if (persists) { E(MPI_%s_init(%s, MPI_INFO_NULL, &x[%d].r)); E(MPI_Start(&x[%d].r)); "+
				"E(MPI_Wait(&x[%d].r, MPI_STATUS_IGNORE)); E(MPI_Request_free(&x[%d].r)); } else", name, p.args, p.id,
				p.id, p.id, p.id)
			g.emit(r, "#endif")
			g.emit(r, "E(MPI_%s(%s));", name, p.args)
			g.emit(r, "%s", p.say)
		}
	}
}

func (g *generator) seed() int { return g.IntN(1 << 30) }

// collective writes one collective among all members.
func (g *generator) collective(c *comm) {
	switch g.IntN(14) {
	case 0:
		g.barrier(c)
	case 1, 2:
		g.bcast(c)
	case 3, 4:
		g.rooted(c)
	case 5, 6:
		g.toAll(c)
	case 7:
		g.alltoallw(c)
	default:
		g.reduction(c)
	}
}

func (g *generator) barrier(c *comm) {
	parts := make([]part, len(c.members))
	for i, r := range c.members {
		parts[i] = part{"", g.id(), ""}
		g.emit(r, "buffer(%d, COLL, 0, MPI_BYTE, 0);", parts[i].id)
	}
	g.call(c, "Barrier", parts)
}

func (g *generator) bcast(c *comm) {
	root, u := g.IntN(len(c.members)), g.IntN(len(g.units))
	n := g.fitting(u, g.size())
	parts := make([]part, len(c.members))
	for i, r := range c.members {
		s, id := g.exactly(u, n), g.id()
		g.emit(r, "buffer(%d, COLL, %d, %s, %d);", id, s.count, s.t.c, g.seed())
		parts[i] = part{fmt.Sprintf("x[%d].base, %d, %s, %d", id, s.count, s.t.c, root), id,
			fmt.Sprintf("settled(%d);", id)}
	}
	g.call(c, "Bcast", parts)
}

// fitting returns about as many units as there are in some bytes, of which several
// types may be made.
func (g *generator) fitting(u, bytes int) int {
	n := g.limit(u, bytes) / g.units[u].size
	if t := pick(g, g.types[u]...); t.n <= 2*n {
		n = (n + t.n - 1) / t.n * t.n
	}
	return n
}

// limit is how many bytes of units may be sent in any way.
func (g *generator) limit(u, bytes int) int {
	if len(g.units[u].fields) > 1 {
		return min(bytes, wide/max(1, g.ranks))
	}
	return bytes
}

// blocks is a buffer of n blocks, of counts units, in any order with gaps between
// them; uniform if regular.
type blocks struct {
	id             int
	t              *ctype
	counts, displs []int
}

// layOut draws where blocks of some numbers of units lie. regular: side by side.
func (g *generator) layOut(u int, units []int, regular bool) blocks {
	b := blocks{id: g.id(), counts: make([]int, len(units)), displs: make([]int, len(units))}
	for {
		b.t = pick(g, g.types[u]...)
		if !slices.ContainsFunc(units, func(n int) bool { return n%b.t.n != 0 }) {
			break
		}
	}
	order := g.Perm(len(units))
	if regular {
		slices.Sort(order)
	}
	at := 0
	for _, i := range order {
		if !regular {
			at += g.IntN(3)
		}
		b.counts[i], b.displs[i] = units[i]/b.t.n, at
		at += b.counts[i]
	}
	return b
}

func (g *generator) vbuffer(r int, b blocks) {
	g.emit(r, "static const int n%d[] = %s, d%d[] = %s;", b.id, braces(orNone(b.counts)), b.id,
		braces(orNone(b.displs)))
	g.emit(r, "vbuffer(%d, %d, n%d, d%d, %s, %d);", b.id, len(b.counts), b.id, b.id, b.t.c, g.seed())
}

// regular is the arguments of a buffer of equal blocks; irregular of others.
func (b *blocks) regular() string {
	n := 0
	if len(b.counts) > 0 {
		n = b.counts[0]
	}
	return fmt.Sprintf("x[%d].base, %d, %s", b.id, n, b.t.c)
}

func (b *blocks) irregular() string {
	return fmt.Sprintf("x[%d].base, n%d, d%d, %s", b.id, b.id, b.id, b.t.c)
}

func (b *blocks) say() string { return fmt.Sprintf("settled(%d);", b.id) }

func equal(n, count int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = count
	}
	return list
}

// rooted writes a gather or a scatter.
func (g *generator) rooted(c *comm) {
	size := len(c.members)
	root, u := g.IntN(size), g.IntN(len(g.units))
	units := equal(size, g.fitting(u, g.size()/2))
	name, v := pick(g, "Gather", "Scatter"), g.oneIn(2)
	if v {
		name += "v"
		for i := range units {
			units[i] = g.fitting(u, g.size()/2)
		}
	}
	gathers := name[0] == 'G'
	inPlace := g.oneIn(3)
	parts := make([]part, size)
	for i, r := range c.members {
		whole, own := "0, 0, MPI_DATATYPE_NULL", "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL"
		if v {
			whole = "0, 0, 0, MPI_DATATYPE_NULL"
		}
		var id int
		var say string
		if i == root {
			b := g.layOut(u, units, !v)
			g.vbuffer(r, b)
			whole, id, say = b.regular(), b.id, b.say()
			if v {
				whole = b.irregular()
			}
		}
		if i != root || !inPlace {
			s := g.exactly(u, units[i])
			one := g.id()
			g.emit(r, "buffer(%d, COLL, %d, %s, %d);", one, s.count, s.t.c, g.seed())
			own = fmt.Sprintf("x[%d].base, %d, %s", one, s.count, s.t.c)
			id, say = one, say+fmt.Sprintf(" settled(%d);", one)
		}
		if gathers {
			parts[i] = part{own + ", " + whole, id, say}
		} else {
			parts[i] = part{whole + ", " + own, id, say}
		}
		parts[i].args += ", " + format(root)
	}
	g.call(c, name, parts)
}

// toAll writes an allgather or an alltoall.
func (g *generator) toAll(c *comm) {
	size := len(c.members)
	u := g.IntN(len(g.units))
	name, v := pick(g, "Allgather", "Alltoall"), g.oneIn(2)
	alltoall := name == "Alltoall"
	inPlace := g.oneIn(3)
	n := g.fitting(u, g.size()/size/2)
	units := make([][]int, size) // what i sends to j
	for i := range units {
		units[i] = equal(size, n)
		if v {
			if !alltoall {
				units[i] = equal(size, g.fitting(u, g.size()/size/2))
			} else {
				for j := range units[i] {
					units[i][j] = g.fitting(u, g.size()/size/2)
					if inPlace && j < i {
						units[i][j] = units[j][i]
					}
				}
			}
		}
	}
	if v {
		name += "v"
	}
	parts := make([]part, size)
	for i, r := range c.members {
		in := make([]int, size)
		for j := range in {
			in[j] = units[j][i]
		}
		recv := g.layOut(u, in, !v)
		if size == 1 && !alltoall {
			recv.displs[0] = 0 // MPICH 4.0.2 takes no notice of the displacement, if there is one rank
		}
		g.vbuffer(r, recv)
		args, say := "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ", recv.say()
		if v && alltoall {
			args = "MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, "
		}
		if !inPlace && alltoall {
			send := g.layOut(u, units[i], !v)
			g.vbuffer(r, send)
			args = send.regular() + ", "
			if v {
				args = send.irregular() + ", "
			}
			say += " " + send.say()
		} else if !inPlace {
			s, id := g.exactly(u, units[i][i]), g.id()
			g.emit(r, "buffer(%d, COLL, %d, %s, %d);", id, s.count, s.t.c, g.seed())
			args = fmt.Sprintf("x[%d].base, %d, %s, ", id, s.count, s.t.c)
			say += fmt.Sprintf(" settled(%d);", id)
		}
		if v {
			args += recv.irregular()
		} else {
			args += recv.regular()
		}
		parts[i] = part{args, recv.id, say}
	}
	g.call(c, name, parts)
}

// alltoallw writes one with a datatype for each block.
func (g *generator) alltoallw(c *comm) {
	size := len(c.members)
	units, kind := make([][]int, size), make([][]int, size)
	for i := range units {
		units[i], kind[i] = make([]int, size), make([]int, size)
		for j := range units[i] {
			kind[i][j] = g.IntN(len(g.units))
			units[i][j] = g.fitting(kind[i][j], g.size()/size/2)
		}
	}
	parts := make([]part, size)
	for i, r := range c.members {
		var args []string
		var say string
		var id int
		for _, sends := range []bool{true, false} {
			at := 0
			counts, displs, types := make([]int, size), make([]int, size), make([]string, size)
			for _, j := range g.Perm(size) {
				n, k := units[j][i], kind[j][i]
				if sends {
					n, k = units[i][j], kind[i][j]
				}
				s := g.exactly(k, n)
				counts[j], types[j] = s.count, s.t.c
				if s.count == 0 {
					continue
				}
				lb, extent := s.t.t.Extent()
				displs[j] = at + max(0, -lb)
				at = displs[j] + s.count*extent + max(0, lb) + 16
			}
			id = g.id()
			g.emit(r, "static const int n%d[] = %s, d%d[] = %s; static MPI_Datatype w%d[%d];", id, braces(counts), id,
				braces(displs), id, size)
			for j, t := range types {
				g.emit(r, "w%d[%d] = %s;", id, j, t)
			}
			g.emit(r, "wbuffer(%d, %d, n%d, d%d, w%d, %d);", id, size, id, id, id, g.seed())
			args = append(args, fmt.Sprintf("x[%d].base, n%d, d%d, w%d", id, id, id, id))
			say += fmt.Sprintf(" settled(%d);", id)
		}
		parts[i] = part{strings.Join(args, ", "), id, say}
	}
	g.call(c, "Alltoallw", parts)
}

// number is a type that reductions compute with.
type number struct {
	c, host string
	ops     []string
	fill    string // with the macro's name and the C type
	say     string
	bytes   int
}

var (
	sums     = []string{"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN"}
	logics   = []string{"MPI_LAND", "MPI_LOR", "MPI_LXOR", "MPI_BAND", "MPI_BOR", "MPI_BXOR"}
	integers = slices.Concat(sums, logics)
	pairs    = []string{"MPI_MINLOC", "MPI_MAXLOC"}
	users    = []string{"composing", "adding"}
)

var numbers = []number{
	{"int", "MPI_INT", integers, "NUMBERS", "", 4},
	{"unsigned char", "MPI_UNSIGNED_CHAR", integers, "NUMBERS", "", 1},
	{"signed char", "MPI_SIGNED_CHAR", integers, "NUMBERS", "", 1},
	{"short", "MPI_SHORT", integers, "NUMBERS", "", 2},
	{"unsigned long", "MPI_UNSIGNED_LONG", integers, "NUMBERS", "", 8},
	{"int64_t", "MPI_INT64_T", integers, "NUMBERS", "", 8},
	{"MPI_Aint", "MPI_AINT", sums, "NUMBERS", "", 8},
	{"float", "MPI_FLOAT", sums, "NUMBERS", "", 4},
	{"double", "MPI_DOUBLE", sums, "NUMBERS", "", 8},
	{"long double", "MPI_LONG_DOUBLE", sums, "NUMBERS", "WIDE", 16},
	{"_Bool", "MPI_C_BOOL", logics[:3], "NUMBERS", "", 1},
	{"unsigned char", "MPI_BYTE", logics[3:], "NUMBERS", "", 1},
	{"double _Complex", "MPI_C_DOUBLE_COMPLEX", sums[:2], "NUMBERS", "", 16},
	{"int", "MPI_2INT", pairs, "PAIRS", "PAIRS", 8},
	{"float", "MPI_FLOAT_INT", pairs, "PAIRS", "PAIRS", 8},
	{"double", "MPI_DOUBLE_INT", pairs, "PAIRS", "PAIRS", 16},
	{"long", "MPI_LONG_INT", pairs, "PAIRS", "PAIRS", 16},
	{"short", "MPI_SHORT_INT", pairs, "PAIRS", "PAIRS", 8},
	{"uint32_t", "user", users, "", "", 8},
	{"uint32_t", "user", users, "", "", 8},
	{"uint32_t", "user", users, "", "", 8},
}

// reduction writes one of the calls that combine.
func (g *generator) reduction(c *comm) {
	size := len(c.members)
	name := pick(g, "Reduce", "Reduce", "Allreduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan",
		"Exscan")
	k, root := pick(g, numbers...), g.IntN(size)
	op := pick(g, k.ops...)
	if k.host == "user" {
		k.host = pick(g, "couple", "apart")
	}
	counts := equal(size, min(g.size(), 70000)/k.bytes)
	whole := counts[0]
	scatters := strings.HasPrefix(name, "Reduce_")
	if scatters {
		whole = 0
		for i := range counts {
			counts[i] /= size
			if name == "Reduce_scatter" {
				counts[i] = pick(g, 0, counts[i], g.IntN(counts[i]+1))
			}
			whole += counts[i]
		}
	}
	inPlace := g.oneIn(3)
	if name == "Reduce" && whole*k.bytes > 100 {
		// MPICH 4.0.2 crashes if the root is not 0.
		inPlace = inPlace && root == 0
	}
	parts := make([]part, size)
	for i, r := range c.members {
		fill := func(n int) int {
			id := g.id()
			g.emit(r, "buffer(%d, COLL, %d, %s, %d);", id, n, k.host, g.seed())
			if k.fill != "" {
				g.emit(r, "%s(%d, %s, %d, %du);", k.fill, id, k.c, n, g.seed())
			}
			return id
		}
		said := func(id, n int) string {
			switch {
			case k.say == "PAIRS":
				return fmt.Sprintf("SAYPAIRS(%d, %s, %d);", id, k.c, n)
			case k.say == "WIDE":
				return fmt.Sprintf("SAYWIDE(%d, %d);", id, n)
			}
			return fmt.Sprintf("settled(%d);", id)
		}
		into := counts[i]
		if inPlace {
			into = whole
		}
		id := fill(into)
		out, say := "MPI_IN_PLACE", said(id, into)
		if name == "Exscan" && i == 0 || name == "Reduce" && i != root && !inPlace {
			say = fmt.Sprintf("settled(%d);", id) // untouched
		}
		if scatters && inPlace { // the rest means nothing
			say = fmt.Sprintf("say(\"%%lx\\n\", hash(x[%d].base, %d * sizeof(%s)));", id, counts[i], k.c)
			if k.say != "" {
				say = said(id, counts[i])
			} else if k.fill == "" {
				say = ""
				if k.host == "couple" {
					say = fmt.Sprintf("say(\"%%lx\\n\", hash(x[%d].base, %d));", id, 8*counts[i])
				}
			}
		}
		in := fmt.Sprintf("x[%d].base", id)
		if name == "Reduce" && i != root {
			if inPlace || g.oneIn(2) {
				in = "0"
			}
		}
		if !inPlace || name == "Reduce" && i != root {
			send := fill(whole)
			out = fmt.Sprintf("x[%d].base", send)
			say += " " + said(send, whole)
		}
		args := out + ", " + in + ", "
		switch name {
		case "Reduce_scatter":
			g.emit(r, "static const int n%d[] = %s;", id, braces(counts))
			args += fmt.Sprintf("n%d", id)
		case "Reduce_scatter_block":
			args += format(counts[0])
		default:
			args += format(whole)
		}
		args += ", " + k.host + ", " + op
		if name == "Reduce" {
			args += ", " + format(root)
		}
		parts[i] = part{args, id, say}
	}
	g.call(c, name, parts)
}

// neighbours writes a collective among neighbours, if there is a topology.
func (g *generator) neighbours() {
	var with []*comm
	for _, c := range g.comms {
		if c.topology != nil {
			with = append(with, c)
		}
	}
	if with == nil {
		g.collective(g.comm(1))
		return
	}
	c := pick(g, with...)
	size := len(c.members)
	u := g.IntN(len(g.units))
	alltoall := g.oneIn(2) && !c.topology.multiple && !c.topology.short // the hosts exchange the blocks
	v := g.oneIn(2)
	n := equal(size, g.fitting(u, g.size()/4))
	if v {
		for i := range n {
			n[i] = g.fitting(u, g.size()/4)
		}
	}
	name := "Neighbor_allgather"
	if alltoall {
		name = "Neighbor_alltoall"
	}
	if v {
		name += "v"
	}
	parts := make([]part, size)
	for i, r := range c.members {
		in := make([]int, len(c.topology.sources[i]))
		for j, from := range c.topology.sources[i] {
			if from >= 0 {
				in[j] = n[from]
			} else {
				in[j] = n[i]
			}
		}
		recv := g.layOut(u, in, !v)
		g.vbuffer(r, recv)
		var args, say string
		if alltoall {
			send := g.layOut(u, equal(len(c.topology.dests[i]), n[i]), !v)
			g.vbuffer(r, send)
			args, say = send.regular(), send.say()
			if v {
				args = send.irregular()
			}
		} else {
			s, id := g.exactly(u, n[i]), g.id()
			g.emit(r, "buffer(%d, COLL, %d, %s, %d);", id, s.count, s.t.c, g.seed())
			args, say = fmt.Sprintf("x[%d].base, %d, %s", id, s.count, s.t.c), fmt.Sprintf("settled(%d);", id)
		}
		if v {
			args += ", " + recv.irregular()
		} else {
			args += ", " + recv.regular()
		}
		parts[i] = part{args, recv.id, say + " " + recv.say()}
	}
	g.call(c, name, parts)
}

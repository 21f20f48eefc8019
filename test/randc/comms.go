package randc

import (
	"cmp"
	"slices"
)

// comm is a communicator of the program, c[id].
type comm struct {
	id       int
	members  []int // ranks in the world
	others   []int // the remote group, of an intercommunicator
	self     bool
	topology *topology
}

// topology is whom the members exchange with in collectives among neighbours, by
// their ranks in the communicator; -1 is MPI_PROC_NULL.
type topology struct {
	sources, dests [][]int
	short          bool // a periodic dimension of 1 or 2
	multiple       bool // several edges from one rank to another
}

func (c *comm) has(rank int) bool {
	return slices.Contains(c.members, rank) || slices.Contains(c.others, rank)
}

// addr is how a member addresses a rank of the world.
func (c *comm) addr(from, to int) int {
	if c.others == nil {
		return slices.Index(c.members, to)
	}
	if slices.Contains(c.members, from) {
		return slices.Index(c.others, to)
	}
	return slices.Index(c.members, to)
}

// comm draws an intracommunicator of at least n ranks.
func (g *generator) comm(n int) *comm {
	for {
		if c := pick(g, g.comms...); len(c.members) >= n && c.others == nil && !c.self {
			return c
		}
	}
}

// someComms draws communicators for messages.
func (g *generator) someComms() []*comm {
	list := []*comm{g.comm(2)}
	for range g.IntN(3) {
		if c := pick(g, g.comms...); !c.self && len(c.members)+len(c.others) > 1 && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// newComm writes code that makes a communicator of a random one.
func (g *generator) newComm() *comm {
	of := g.comm(1)
	n := &comm{}
	switch g.IntN(9) {
	case 0, 1:
		return g.dup(of)
	case 2, 3:
		return g.split(of)
	case 4:
		return g.fromGroup(of)
	case 5:
		return g.grid(of)
	case 6:
		return g.graph(of, g.oneIn(2))
	case 7:
		n.members = slices.Clone(of.members)
		return g.add(of, n, func(rank, at int) string {
			return "MPI_Comm_split_type(%s, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, %s)"
		})
	default:
		for _, c := range g.comms {
			if c.topology != nil && c.topology.sources != nil && g.oneIn(2) {
				return g.dup(c)
			}
		}
		return g.dup(of)
	}
}

// add writes the call of every member of a communicator that makes another, its
// arguments the communicator and where the new one goes.
func (g *generator) add(of, n *comm, call func(rank, at int) string) *comm {
	g.commCount++
	n.id = g.commCount + 1
	for at, r := range of.members {
		g.emit(r, "E("+call(r, at)+");", cname(of.id), "&"+cname(n.id))
		g.emit(r, "about(%d);", n.id)
	}
	g.comms = append(g.comms, n)
	return n
}

func (g *generator) dup(of *comm) *comm {
	n := &comm{members: slices.Clone(of.members), topology: of.topology}
	name := pick(g, "MPI_Comm_dup(%s, %s)", "MPI_Comm_dup(%s, %s)", "MPI_Comm_dup_with_info(%s, MPI_INFO_NULL, %s)")
	return g.add(of, n, func(int, int) string { return name })
}

func (g *generator) split(of *comm) *comm {
	type call struct{ colour, key, at int }
	calls := make([]call, len(of.members))
	parts := map[int][]call{}
	for i := range calls {
		calls[i] = call{g.IntN(3) - 1, g.IntN(3), i}
		parts[calls[i].colour] = append(parts[calls[i].colour], calls[i])
	}
	var made []*comm
	g.commCount++
	id := g.commCount + 1
	for colour := range 2 {
		part := parts[colour]
		if part == nil {
			continue
		}
		slices.SortStableFunc(part, func(a, b call) int { return cmp.Compare(a.key, b.key) })
		n := &comm{id: id}
		for _, p := range part {
			n.members = append(n.members, of.members[p.at])
		}
		made = append(made, n)
	}
	for at, r := range of.members {
		colour := calls[at].colour
		if colour < 0 {
			g.emit(r, "E(MPI_Comm_split(%s, MPI_UNDEFINED, %d, &%s));", cname(of.id), calls[at].key, cname(id))
		} else {
			g.emit(r, "E(MPI_Comm_split(%s, %d, %d, &%s));", cname(of.id), colour, calls[at].key, cname(id))
		}
		g.emit(r, "about(%d);", id)
	}
	g.comms = append(g.comms, made...)
	return nil
}

// fromGroup makes one of some members in any order.
func (g *generator) fromGroup(of *comm) *comm {
	some := g.Perm(len(of.members))[:1+g.IntN(len(of.members))]
	n := &comm{}
	for _, i := range some {
		n.members = append(n.members, of.members[i])
	}
	alone := g.oneIn(2) // only those that are in it take part
	g.commCount++
	n.id = g.commCount + 1
	for _, r := range of.members {
		if alone && !slices.Contains(n.members, r) {
			g.emit(r, "%s = MPI_COMM_NULL;", cname(n.id))
			continue
		}
		g.emit(r, "{ MPI_Group a, b; MPI_Comm_group(%s, &a); MPI_Group_incl(a, %d, (int[])%s, &b);", cname(of.id),
			len(some), braces(some))
		if alone {
			g.emit(r, "E(MPI_Comm_create_group(%s, b, %d, &%s));", cname(of.id), n.id, cname(n.id))
		} else {
			g.emit(r, "E(MPI_Comm_create(%s, b, &%s));", cname(of.id), cname(n.id))
		}
		g.emit(r, "MPI_Group_free(&a); MPI_Group_free(&b); }")
		g.emit(r, "about(%d);", n.id)
	}
	g.comms = append(g.comms, n)
	return n
}

func (g *generator) grid(of *comm) *comm {
	size := len(of.members)
	dims := []int{size}
	for d := 2; d < size; d++ {
		if size%d == 0 && g.oneIn(2) {
			dims = []int{d, size / d}
			break
		}
	}
	if g.oneIn(4) {
		dims = append(dims, 1)
	}
	periods := make([]int, len(dims))
	top := &topology{sources: make([][]int, size)}
	for i := range dims {
		periods[i] = g.IntN(2)
		top.short = top.short || periods[i] == 1 && dims[i] <= 2
	}
	for r := range size {
		stride := size
		for i, d := range dims {
			stride /= d
			at := r / stride % d
			for _, step := range []int{-1, 1} {
				to := at + step
				switch {
				case periods[i] == 1:
					to = (to + d) % d
				case to < 0 || to >= d:
					top.sources[r] = append(top.sources[r], -1)
					continue
				}
				top.sources[r] = append(top.sources[r], r+(to-at)*stride)
			}
		}
	}
	top.dests = top.sources
	n := &comm{members: slices.Clone(of.members), topology: top}
	return g.add(of, n, func(int, int) string {
		return "MPI_Cart_create(%s, " + format(len(dims)) + ", (int[])" + braces(dims) + ", (int[])" + braces(periods) +
			", 0, %s)"
	})
}

// graph makes a graph with loops and multiple edges, distributed or not; the latter
// is symmetric.
func (g *generator) graph(of *comm, distributed bool) *comm {
	size := len(of.members)
	top := &topology{sources: make([][]int, size), dests: make([][]int, size)}
	for range 1 + g.IntN(2*size+1) {
		a, b := g.IntN(size), g.IntN(size)
		top.dests[a], top.sources[b] = append(top.dests[a], b), append(top.sources[b], a)
		if !distributed && a != b {
			top.dests[b], top.sources[a] = append(top.dests[b], a), append(top.sources[a], b)
		}
	}
	for _, list := range top.dests {
		list = slices.Sorted(slices.Values(list))
		top.multiple = top.multiple || len(slices.Compact(list)) < len(list)
	}
	n := &comm{members: slices.Clone(of.members), topology: top}
	if none := func(l []int) bool { return len(l) == 0 }; slices.ContainsFunc(top.dests, none) ||
		slices.ContainsFunc(top.sources, none) {
		n.topology = nil // Open MPI 4.1.4 mistakes counts and waits for nobody
	}
	if distributed {
		// Either end of an edge may list it where it likes, but for several edges
		// between the same two ranks, which match in order.
		return g.add(of, n, func(_, at int) string {
			return "MPI_Dist_graph_create_adjacent(%s, " + format(len(top.sources[at])) + ", (int[])" +
				braces(orNone(top.sources[at])) + ", MPI_UNWEIGHTED, " +
				format(len(top.dests[at])) + ", (int[])" + braces(orNone(top.dests[at])) +
				", MPI_UNWEIGHTED, MPI_INFO_NULL, 0, %s)"
		})
	}
	for r := range size {
		slices.Sort(top.dests[r])
	}
	top.sources = top.dests
	var index, edges []int
	for r := range size {
		edges = append(edges, top.dests[r]...)
		index = append(index, len(edges))
	}
	return g.add(of, n, func(int, int) string {
		return "MPI_Graph_create(%s, " + format(size) + ", (int[])" + braces(index) + ", (int[])" + braces(edges) +
			", 0, %s)"
	})
}

// newIntercomm joins the even ranks and the odd ones.
func (g *generator) newIntercomm() {
	n := &comm{}
	for r := range g.ranks {
		if r%2 == 0 {
			n.members = append(n.members, r)
		} else {
			n.others = append(n.others, r)
		}
	}
	g.commCount += 2
	half := g.commCount
	n.id = half + 1
	g.each(func(r int) {
		g.emit(r, "E(MPI_Comm_split(c[0], %d, 0, &%s));", r%2, cname(half))
		g.emit(r, "E(MPI_Intercomm_create(%s, 0, c[0], %d, 5, &%s));", cname(half), 1-r%2, cname(n.id))
	})
	g.comms = append(g.comms, n, &comm{id: half, members: n.members}, &comm{id: half, members: n.others})
	if g.oneIn(2) {
		g.commCount++
		merged := &comm{id: g.commCount + 1, members: append(slices.Clone(n.members), n.others...)}
		g.each(func(r int) { g.emit(r, "E(MPI_Intercomm_merge(%s, %d, &%s));", cname(n.id), r%2, cname(merged.id)) })
		g.comms = append(g.comms, merged)
	}
}

// freeComm frees one that the program has made; requests may be under way.
func (g *generator) freeComm() {
	if len(g.comms) <= 2 {
		return
	}
	i := 2 + g.IntN(len(g.comms)-2)
	c := g.comms[i]
	g.comms = slices.Delete(g.comms, i, i+1)
	for _, r := range slices.Concat(c.members, c.others) {
		g.emit(r, "E(MPI_Comm_free(&%s));", cname(c.id))
	}
}

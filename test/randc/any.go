package randc

import (
	"fmt"
	"slices"
)

// ready writes messages whose receives are all posted before one is sent, so any mode
// will do.
func (g *generator) ready(c *comm, n int) {
	var list []*message
	for range n {
		m := &message{comm: c, src: pick(g, c.members...), dst: pick(g, c.members...), tag: g.tag()}
		g.draw(m, 300000)
		list = append(list, m)
	}
	for _, r := range c.members {
		for _, i := range g.Perm(n) {
			if m := list[i]; m.dst == r {
				g.irecv(r, &operation{message: m, id: g.id()})
			}
		}
		g.emit(r, "E(MPI_Barrier(%s));", cname(c.id))
		for _, i := range g.Perm(n) {
			m := list[i]
			if m.src != r {
				continue
			}
			o := &operation{message: m, id: g.id(), sends: true}
			args, after := g.data(r, o)
			if g.oneIn(2) {
				g.emit(r, "E(MPI_Rsend(%s, %s));", args, g.where(o))
				g.emit(r, "%s %s", after, o.settled())
			} else {
				g.emit(r, "E(MPI_I%ssend(%s, %s, &x[%d].r));", pick(g, "r", "r", "s", ""), args, g.where(o), o.id)
				g.emit(r, "%s", after)
				g.later(r, request{ids: []int{o.id}, say: o.settled(), statusFree: true})
			}
		}
		g.someLater(r, 0)
	}
}

// anySource writes messages to one rank, which receives them from any source.
func (g *generator) anySource(c *comm) {
	dst := pick(g, c.members...)
	n := 2 + g.IntN(8)
	u := g.IntN(len(g.units))
	limit := g.limit(u, g.size()) / g.units[u].size
	into := g.sideOf(u, limit)
	tag, anyTag := g.tag(), g.oneIn(3) && !g.parallel
	probes := g.oneIn(3)
	bytes := into.units() * g.units[u].size
	var sends []*operation
	for range n {
		m := &message{comm: c, src: pick(g, c.members...), dst: dst, tag: tag, bytes: bytes}
		if m.src == dst {
			m.src = c.members[(slices.Index(c.members, dst)+1)%len(c.members)]
		}
		if anyTag {
			m.tag = g.tag()
		}
		m.send = g.exactly(u, g.IntN(limit+1))
		sends = append(sends, &operation{message: m, id: g.id(), sends: true})
	}
	var ids []int
	tagged := format(tag)
	if anyTag {
		tagged = "MPI_ANY_TAG"
	}
	from := "MPI_ANY_SOURCE, " + tagged + ", " + cname(c.id)
	seed := g.IntN(1 << 30)
	for range n {
		id := g.id()
		ids = append(ids, id)
		g.emit(dst, "buffer(%d, IN, %d, %s, %d);", id, into.count, into.t.c, seed)
	}
	args := func(id int) string { return fmt.Sprintf("x[%d].base, %d, %s", id, into.count, into.t.c) }
	blocking := 0
	if probes {
		blocking = n
	} else if g.oneIn(2) {
		blocking = g.IntN(n + 1)
	}
	for _, id := range ids[blocking:] {
		g.emit(dst, "E(MPI_Irecv(%s, %s, &x[%d].r));", args(id), from, id)
	}
	for _, id := range ids[:blocking] {
		switch {
		case !probes:
			g.emit(dst, "x[%d].code = MPI_Recv(%s, %s, &x[%d].s);", id, args(id), from, id)
		case g.oneIn(2):
			g.emit(dst, "{ MPI_Status p; E(MPI_Probe(%s, &p));", from)
			g.emit(dst, "x[%d].code = MPI_Recv(%s, p.MPI_SOURCE, p.MPI_TAG, %s, &x[%d].s); }", id, args(id),
				cname(c.id), id)
		default:
			g.emit(dst, "{ MPI_Message m; MPI_Status p; E(MPI_Mprobe(%s, &m, &p));", from)
			g.emit(dst, "x[%d].code = MPI_Mrecv(%s, &m, &x[%d].s); }", id, args(id), id)
		}
	}
	// Those that have been posted first come first.
	order := slices.Concat(ids[blocking:], ids[:blocking])
	say := fmt.Sprintf("settled_any(%d, (int[])%s);", n, braces(order))
	if blocking == n {
		g.emit(dst, "%s", say)
	} else {
		g.later(dst, request{ids: ids[blocking:], say: say})
	}
	for _, o := range sends {
		if g.oneIn(2) {
			g.send(o.src, o)
		} else {
			g.isend(o.src, o)
		}
	}
	for _, r := range c.members {
		if anyTag { // else it would take messages of what follows
			if r == dst {
				g.completeAll(r)
			}
			g.emit(r, "E(MPI_Barrier(%s));", cname(c.id))
		} else {
			g.someLater(r, 0)
		}
	}
}

// persistent writes messages that are sent several times.
func (g *generator) persistent(c *comm, n int) {
	var ops []*operation
	for range n {
		m := &message{comm: c, src: pick(g, c.members...), dst: pick(g, c.members...), tag: g.tag()}
		g.draw(m, 70000)
		m.truncated, m.recv = false, g.sideOf(m.unit, m.send.units())
		ops = append(ops, &operation{message: m, id: g.id(), sends: true}, &operation{message: m, id: g.id()})
	}
	rounds := 1 + g.IntN(3)
	for _, r := range c.members {
		var mine []*operation
		for _, i := range g.Perm(len(ops)) {
			if o := ops[i]; o.sends && o.src == r || !o.sends && o.dst == r {
				mine = append(mine, o)
			}
		}
		once := map[*operation]bool{}
		for _, o := range mine {
			s, kind := o.recv, "IN"
			if o.sends {
				s, kind = o.send, "OUT"
			}
			g.emit(r, "buffer(%d, %s, %d, %s, %d);", o.id, kind, s.count, s.t.c, g.IntN(1<<30))
			if once[o] = g.oneIn(5); once[o] {
				continue
			}
			args := fmt.Sprintf("x[%d].base, %d, %s, %s, &x[%d].r", o.id, s.count, s.t.c, g.where(o), o.id)
			if o.sends {
				g.emit(r, "E(MPI_%s_init(%s));", upper[g.mode(o)], args)
			} else {
				g.emit(r, "E(MPI_Recv_init(%s));", args)
			}
		}
		for range rounds {
			g.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			var list []request
			for _, o := range mine {
				s := o.recv
				if o.sends {
					s = o.send
				}
				g.emit(r, "pattern(&x[%d], %d);", o.id, g.IntN(1<<30))
				args := fmt.Sprintf("x[%d].base, %d, %s, %s, &x[%d].r", o.id, s.count, s.t.c, g.where(o), o.id)
				switch {
				case !once[o]:
					g.emit(r, "E(MPI_Start(&x[%d].r));", o.id)
				case o.sends:
					g.emit(r, "E(MPI_Isend(%s));", args)
				default:
					g.emit(r, "E(MPI_Irecv(%s));", args)
				}
				list = append(list, request{ids: []int{o.id}, say: o.settled()})
			}
			k := g.IntN(len(list) + 1)
			g.complete(r, list[:k])
			g.complete(r, list[k:])
		}
		for _, o := range mine {
			if !once[o] {
				g.emit(r, "E(MPI_Request_free(&x[%d].r));", o.id)
			}
		}
	}
}

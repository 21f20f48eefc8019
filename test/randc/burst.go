package randc

import (
	"fmt"
	"slices"
	"strconv"
)

func cname(id int) string { return fmt.Sprintf("c[%d]", id) }
func format(n int) string { return strconv.Itoa(n) }
func orNone(list []int) []int {
	if len(list) == 0 {
		return []int{0}
	}
	return list
}

// message goes from src to dst, which are ranks of the world.
type message struct {
	comm       *comm
	src, dst   int
	tag        int
	anyTag     bool
	unit       int
	send, recv side
	bytes      int
	truncated  bool
	typed      bool // not buffered, not packed
}

// operation is what a rank does with a message. It is the one of its rank whose turn
// is index; it starts at the turn start and may be waited for after the turn ready.
type operation struct {
	*message
	sends        bool
	index, start int
	ready        int
	blocks       bool
	id           int
}

// draw draws the data of a message.
func (g *generator) draw(m *message, limit int) {
	u := g.IntN(len(g.units))
	m.unit = u
	m.send = g.sideOf(u, min(g.size(), limit)/g.units[u].size)
	n := m.send.units()
	if bytes := n * g.units[u].size; len(g.units[u].fields) > 1 && bytes > wide {
		if m.send.t.t.Dense() {
			m.send.count = wide / m.send.t.t.Size()
			n = m.send.units()
		}
		m.typed = true
	}
	m.recv = g.sideOf(u, n)
	if g.oneIn(4) {
		m.recv.count += g.IntN(3)
	}
	m.bytes = n * g.units[u].size
	if n > 0 && m.comm.id == 0 && g.oneIn(10) { // Open MPI 4.1.4 ends the job if the communicator has been freed
		m.recv.count = (n - 1) / m.recv.t.n
		m.truncated = true
	}
}

// burst writes n messages between any ranks, each operation in any form.
func (g *generator) burst(comms []*comm, n int) {
	ordered := g.oneIn(2) // messages of two ranks are received as they are sent, tags may be the same
	tags := []int{g.tag(), g.tag(), g.tag()}
	var brief *comm
	if !g.parallel && g.oneIn(6) {
		brief = g.dup(comms[0])
		comms = append(slices.Clone(comms), brief)
	}
	ops := make([][]*operation, g.ranks)
	for range n {
		c := pick(g, comms...)
		m := &message{comm: c}
		all := slices.Concat(c.members, c.others)
		m.src = pick(g, all...)
		for m.dst = pick(g, all...); c.others != nil &&
			slices.Contains(c.members, m.src) == slices.Contains(c.members, m.dst) || m.src == m.dst && !g.oneIn(4); {
			m.dst = pick(g, all...)
		}
		m.tag = g.tag()
		if ordered {
			m.tag, m.anyTag = pick(g, tags...), g.oneIn(3) && c.others == nil
		}
		g.draw(m, 300000)
		ops[m.dst] = append(ops[m.dst], &operation{message: m})
		ops[m.src] = append(ops[m.src], &operation{message: m, sends: true})
	}
	for r, list := range ops {
		g.schedule(list, ordered)
		for i := range list {
			g.turn(r, list, i, ordered)
			if g.oneIn(4) {
				g.someLater(r, i)
			}
		}
		for i := range g.pending[r] {
			g.pending[r][i].ready = 0
		}
		if brief != nil && slices.Contains(brief.members, r) {
			g.emit(r, "E(MPI_Comm_free(&%s));", cname(brief.id))
		}
		if !g.oneIn(4) {
			g.someLater(r, 0)
		}
	}
	if brief != nil {
		g.comms = slices.DeleteFunc(g.comms, func(c *comm) bool { return c == brief })
	}
}

// schedule draws which operations of a rank wait, and when the others start.
func (g *generator) schedule(list []*operation, ordered bool) {
	type way struct {
		sends bool
		comm  int
		peer  int
	}
	next := map[way]int{}
	for i, o := range list {
		o.index, o.start, o.ready, o.id = i, i, i, g.id()
		o.blocks = g.oneIn(2)
		if o.src == o.dst {
			o.blocks = false
			if o.sends {
				o.ready = i
			} else {
				o.ready = i + 1 // its send is next
			}
		}
		w := way{o.sends, o.comm.id, o.src + o.dst}
		if !o.blocks {
			from := 0
			if ordered {
				from = next[w]
			}
			o.start = from + g.IntN(i-from+1)
		}
		next[w] = o.start
		if o.blocks {
			next[w]++
		}
	}
}

// turn writes what begins at a turn.
func (g *generator) turn(r int, list []*operation, i int, ordered bool) {
	var now []*operation
	for _, o := range list {
		if o.start == i && !o.blocks && o.index >= i {
			now = append(now, o)
		}
	}
	if !ordered {
		g.Shuffle(len(now), func(a, b int) { now[a], now[b] = now[b], now[a] })
	}
	for _, o := range now {
		if o.sends {
			g.isend(r, o)
		} else {
			g.irecv(r, o)
		}
	}
	o := list[i]
	switch {
	case !o.blocks:
	case i+1 < len(list) && list[i+1].blocks && o.sends != list[i+1].sends && o.comm == list[i+1].comm && g.oneIn(2):
		// Those that start at the next turn may not be before this pair in the order
		// of their peer: there are none, since what blocks starts in its turn.
		list[i+1].blocks, list[i+1].start = false, -1
		if o.sends {
			g.sendrecv(r, o, list[i+1])
		} else {
			g.sendrecv(r, list[i+1], o)
		}
	case o.sends:
		g.send(r, o)
	default:
		g.recv(r, o)
	}
}

// data declares the buffer of an operation and returns it as arguments of a call, and
// what comes after the call.
func (g *generator) data(r int, o *operation) (args, after string) {
	s, kind := o.recv, "IN"
	if o.sends {
		s, kind = o.send, "OUT"
	}
	g.emit(r, "buffer(%d, %s, %d, %s, %d);", o.id, kind, s.count, s.t.c, g.IntN(1<<30))
	if o.truncated && !o.sends {
		g.emit(r, "spare(%d, %d);", o.id, 8*o.bytes+100000)
		return fmt.Sprintf("x[%d].base, %d, %s", o.id, s.count, s.t.c), ""
	}
	switch g.IntN(10) {
	case 0:
		if s.count > 0 {
			g.emit(r, "{ MPI_Datatype d%d = absolute(%d, %d, %s);", o.id, o.id, s.count, s.t.c)
			return fmt.Sprintf("MPI_BOTTOM, 1, d%d", o.id), fmt.Sprintf("MPI_Type_free(&d%d); }", o.id)
		}
	case 1:
		g.emit(r, "{ MPI_Datatype d%d; MPI_Type_dup(%s, &d%d);", o.id, s.t.c, o.id)
		return fmt.Sprintf("x[%d].base, %d, d%d", o.id, s.count, o.id), fmt.Sprintf("MPI_Type_free(&d%d); }", o.id)
	case 2:
		if o.sends && !o.typed {
			g.emit(r, "{ int n%d = packed(%d, %d, %s);", o.id, o.id, s.count, s.t.c)
			return fmt.Sprintf("x[%d].base, n%d, MPI_PACKED", o.id, o.id), "}"
		}
	}
	return fmt.Sprintf("x[%d].base, %d, %s", o.id, s.count, s.t.c), ""
}

// where is the peer, the tag and the communicator of an operation.
func (g *generator) where(o *operation) string {
	if o.sends {
		return fmt.Sprintf("%d, %d, %s", o.comm.addr(o.src, o.dst), o.tag, cname(o.comm.id))
	}
	tag := format(o.tag)
	if o.anyTag {
		tag = "MPI_ANY_TAG"
	}
	return fmt.Sprintf("%d, %s, %s", o.comm.addr(o.dst, o.src), tag, cname(o.comm.id))
}

func (o *operation) settled() string { return fmt.Sprintf("settled(%d);", o.id) }

// mode draws a mode of sending that is always legal; the standard one has no letter.
func (g *generator) mode(o *operation) string {
	if o.typed || o.bytes > 100000 || o.comm.others != nil {
		return pick(g, "", "", "s")
	}
	return pick(g, "", "", "", "s", "b")
}

var upper = map[string]string{"": "Send", "s": "Ssend", "b": "Bsend", "r": "Rsend"}

func (g *generator) send(r int, o *operation) {
	args, after := g.data(r, o)
	g.emit(r, "E(MPI_%s(%s, %s));", upper[g.mode(o)], args, g.where(o))
	g.emit(r, "%s %s", after, o.settled())
}

func (g *generator) isend(r int, o *operation) {
	args, after := g.data(r, o)
	q := request{ids: []int{o.id}, say: o.settled(), statusFree: true}
	if g.oneIn(8) {
		g.emit(r, "E(MPI_%s_init(%s, %s, &x[%d].r));", upper[g.mode(o)], args, g.where(o), o.id)
		g.emit(r, "%s", after)
		g.emit(r, "E(MPI_Start(&x[%d].r));", o.id)
		q.after = fmt.Sprintf("E(MPI_Request_free(&x[%d].r));", o.id)
	} else {
		g.emit(r, "E(MPI_I%ssend(%s, %s, &x[%d].r));", g.mode(o), args, g.where(o), o.id)
		g.emit(r, "%s", after)
		if g.oneIn(20) {
			g.emit(r, "E(MPI_Request_free(&x[%d].r));", o.id)
			return
		}
	}
	g.hold(r, o, q)
}

// hold remembers a request that has been started and may be completed when it is its
// turn.
func (g *generator) hold(r int, o *operation, q request) {
	q.ready = o.ready
	g.later(r, q)
}

func (g *generator) irecv(r int, o *operation) {
	args, after := g.data(r, o)
	q := request{ids: []int{o.id}, say: o.settled()}
	if g.oneIn(8) && !o.truncated { // Open MPI 4.1.4 frees a persistent request that fails
		g.emit(r, "E(MPI_Recv_init(%s, %s, &x[%d].r));", args, g.where(o), o.id)
		g.emit(r, "%s", after)
		g.emit(r, "E(MPI_Startall(1, &x[%d].r));", o.id)
		q.after = fmt.Sprintf("E(MPI_Request_free(&x[%d].r));", o.id)
	} else {
		g.emit(r, "E(MPI_Irecv(%s, %s, &x[%d].r));", args, g.where(o), o.id)
		g.emit(r, "%s", after)
	}
	g.hold(r, o, q)
}

func (g *generator) recv(r int, o *operation) {
	args, after := g.data(r, o)
	status := fmt.Sprintf("&x[%d].s", o.id)
	code := fmt.Sprintf("x[%d].code = ", o.id)
	switch g.IntN(8) {
	case 0:
		g.emit(r, "{ MPI_Status p; E(MPI_Probe(%s, &p)); probed(%d, &p, %s); }", g.where(o), o.id, o.recv.t.c)
	case 1:
		g.emit(r, "{ MPI_Status p; int flag = 0; while (!flag) E(MPI_Iprobe(%s, &flag, &p)); probed(%d, &p, %s); }",
			g.where(o), o.id, o.recv.t.c)
	case 2:
		g.emit(r, "{ MPI_Message m; MPI_Status p; E(MPI_Mprobe(%s, &m, &p)); probed(%d, &p, %s);", g.where(o), o.id,
			o.recv.t.c)
		g.emit(r, "%sMPI_Mrecv(%s, &m, %s); }", code, args, status)
		g.emit(r, "%s %s", after, o.settled())
		return
	case 3:
		g.emit(r, "{ MPI_Message m; MPI_Status p; int flag = 0; while (!flag) E(MPI_Improbe(%s, &flag, &m, &p)); "+
			"probed(%d, &p, %s);", g.where(o), o.id, o.recv.t.c)
		g.emit(r, "E(MPI_Imrecv(%s, &m, &x[%d].r)); }", args, o.id)
		g.emit(r, "%s", after)
		o.blocks = false
		g.hold(r, o, request{ids: []int{o.id}, say: o.settled()})
		return
	}
	g.emit(r, "%sMPI_Recv(%s, %s, %s);", code, args, g.where(o), status)
	g.emit(r, "%s %s", after, o.settled())
}

func (g *generator) sendrecv(r int, s, d *operation) {
	out, after := g.data(r, s)
	in, behind := g.data(r, d)
	tag := format(d.tag)
	if d.anyTag {
		tag = "MPI_ANY_TAG"
	}
	g.emit(r, "x[%d].code = MPI_Sendrecv(%s, %d, %d, %s, %d, %s, %s, &x[%d].s);", d.id, out, s.comm.addr(s.src, s.dst),
		s.tag, in, d.comm.addr(d.dst, d.src), tag, cname(s.comm.id), d.id)
	g.emit(r, "%s %s %s %s", behind, after, s.settled(), d.settled())
}

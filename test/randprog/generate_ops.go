package randprog

// The operations that the generator adds, with arguments that have a chance to
// meet each other.

func (g *generator) thread() int { return g.IntN(len(g.p.Threads)) }

func (g *generator) size() int {
	var s int
	for {
		s = sizes[g.IntN(len(sizes))]
		if s <= g.limit {
			break
		}
	}
	if g.IntN(4) == 0 {
		s = g.IntN(min(g.limit, 1<<g.IntN(21)) + 1)
	}
	s = min(s, g.budget)
	g.budget -= s
	return s
}

// fitting returns size, or a size of the other kind if the rules ask for that.
func (g *generator) fitting(e end, size int) int {
	rules := g.p.Rules
	if !rules.paired() {
		return size
	}
	switch long, short := g.ledger.lengths(e); {
	case long && !rules.long(size):
		return rules.Eager + 1 + g.IntN(max(1, g.limit-rules.Eager))
	case short && rules.long(size):
		return min(rules.Eager, sizes[g.IntN(len(sizes))])
	}
	return size
}

// pick takes a random element of list out that ok accepts, or returns nil.
func (g *generator) pick(list *[]*Op, ok func(*Op) bool) *Op {
	for range 4 {
		if len(*list) == 0 {
			return nil
		}
		i := g.IntN(len(*list))
		if o := (*list)[i]; ok(o) {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return o
		}
	}
	return nil
}

// outgoing is a send of thread to wherever, or into an open receive.
func (g *generator) outgoing(thread int) Op {
	o := Op{Thread: thread, Dest: g.thread()}
	o.Tag = g.p.tag(g.phase, thread, o.Dest, g.IntN(tagKinds))
	from := g.p.Threads[thread]
	if g.IntN(4) > 0 {
		if r := g.pick(&g.open, func(r *Op) bool { return r.From == AnySource || r.From == from.Rank }); r != nil {
			o.Dest = r.Thread
			o.Tag = g.p.tag(g.phase, thread, o.Dest, g.IntN(tagKinds))
			for k := range tagKinds {
				if g.p.tag(g.phase, thread, o.Dest, k) == r.RTag {
					o.Tag = r.RTag
				}
			}
		}
	}
	o.Size = g.size()
	return o
}

func (g *generator) send(kind Kind) {
	o := g.outgoing(g.thread())
	o.Kind, o.Mode = kind, []Mode{Standard, Standard, Standard, Synchronous, Buffered, Ready, Ready}[g.IntN(7)]
	if o.Mode != Ready && kind == Isend {
		o.Cancelable = g.Float64() < g.cancel
	}
	o.Size = g.fitting(g.ledger.sendEnd(&o), o.Size)
	if !g.add(o) {
		return
	}
	made := &g.p.Ops[len(g.p.Ops)-1]
	g.due = append(g.due, copyOf(made))
	if kind == Isend {
		g.reqs[o.Thread] = append(g.reqs[o.Thread], copyOf(made))
	}
}

// copyOf detaches o from Program.Ops, which moves as it grows.
func copyOf(o *Op) *Op { c := *o; return &c }

// incoming is a receive of thread for a message that is due, or for one that
// may yet come.
func (g *generator) incoming(thread int) Op {
	o := Op{Thread: thread, From: g.p.Threads[g.thread()].Rank}
	sender := g.thread()
	o.From = g.p.Threads[sender].Rank
	o.RTag = g.p.tag(g.phase, sender, thread, g.IntN(tagKinds))
	size := g.limit
	if g.IntN(10) > 0 {
		if s := g.pick(&g.due, func(s *Op) bool { return s.Dest == thread }); s != nil {
			o.From, o.RTag = g.p.Threads[s.Thread].Rank, s.Tag
			if g.IntN(3) == 0 {
				size = s.Size
			}
		}
	}
	o.Cap = size
	if g.IntN(12) == 0 {
		o.Cap = min(size, sizes[g.IntN(len(sizes))])
	}
	if g.Float64() < g.wild && !g.p.Rules.paired() {
		o.From = AnySource
	}
	if g.p.single(thread) && g.Float64() < g.wild && !g.p.Rules.Counted {
		o.RTag = AnyTag
	}
	return o
}

func (g *generator) receive(kind Kind) {
	o := g.incoming(g.thread())
	o.Kind = kind
	o.Cancelable = kind == Irecv && g.Float64() < g.cancel
	o.Peek = kind == Iprobe && g.IntN(3) == 0
	o.Cap = g.fitting(g.ledger.recvEnd(&o), o.Cap)
	if !g.add(o) {
		return
	}
	if kind == Irecv {
		made := copyOf(&g.p.Ops[len(g.p.Ops)-1])
		g.open = append(g.open, made)
		g.reqs[o.Thread] = append(g.reqs[o.Thread], made)
	}
}

// sendrecv adds a ring of one to three threads, each sending to the next. Each
// end of the ring is admitted on account of the others.
func (g *generator) sendrecv() {
	ring := g.Perm(len(g.p.Threads))[:1+g.IntN(min(3, len(g.p.Threads)))]
	k := g.IntN(tagKinds)
	var unit []Op
	for i, t := range ring {
		next, prev := ring[(i+1)%len(ring)], ring[(i+len(ring)-1)%len(ring)]
		o := Op{
			Thread: t, Kind: Sendrecv, Dest: next, Tag: g.p.tag(g.phase, t, next, k), Size: g.size(),
			From: g.p.Threads[prev].Rank, RTag: g.p.tag(g.phase, prev, t, k), Cap: g.limit,
		}
		o.Size, o.Cap = g.fitting(g.ledger.sendEnd(&o), o.Size), g.fitting(g.ledger.recvEnd(&o), o.Cap)
		unit = append(unit, o)
	}
	g.add(unit...)
}

// onRequests adds an operation on requests of a random thread.
func (g *generator) onRequests(kind Kind) {
	thread := g.thread()
	reqs := g.reqs[thread]
	if len(reqs) == 0 {
		return
	}
	o := Op{Thread: thread, Kind: kind}
	switch kind {
	case Test:
		o.Reqs = []int{reqs[g.IntN(len(reqs))].ID}
	case Cancel:
		for _, i := range g.Perm(len(reqs)) {
			if reqs[i].Cancelable && !g.ledger.cancelled[reqs[i].ID] {
				o.Reqs = []int{reqs[i].ID}
			}
		}
	case WaitAny:
		for _, i := range g.Perm(len(reqs))[:min(len(reqs), 1+g.IntN(4))] {
			o.Reqs = append(o.Reqs, reqs[i].ID)
			if g.ledger.ends(reqs[i].ID) {
				o.Sure = reqs[i].ID
			}
		}
	default:
		n := 1
		if kind == WaitAll {
			n = 1 + g.IntN(5)
		}
		for _, i := range g.Perm(len(reqs)) {
			q := reqs[i]
			// What only a Status would tell does not go into WaitAll, which
			// reports none.
			wild := q.Kind == Irecv && (q.From == AnySource || q.RTag == AnyTag)
			if kind == WaitAll && (wild || q.Cancelable) {
				continue
			}
			if g.ledger.ends(q.ID) && len(o.Reqs) < n {
				o.Reqs = append(o.Reqs, q.ID)
			}
		}
	}
	g.add(o)
}

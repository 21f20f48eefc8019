package randprog

import "math/rand/v2"

// seedsPerJob is how many consecutive seeds share a number of ranks, so that
// their programs can be played one after another in one world.
const seedsPerJob = 8

// RanksOf returns the number of ranks of the program of a seed, 2 to 6.
func RanksOf(seed uint64) int {
	r := rand.New(rand.NewPCG(seed/seedsPerJob, 1))
	return []int{2, 2, 2, 3, 3, 4, 5, maxRanks}[r.IntN(8)]
}

// sizes are the message sizes at which protocols change their mind, in bytes.
var sizes = []int{
	0, 0, 1, 3, 4, 8, 16, 40, 41, 64, 65, 200, 231, 232, 233, 256, 257, 1000, 2048, 4095, 4096, 4097,
	8191, 8192, 8193, 12 << 10, 16 << 10, 32<<10 - 1, 32 << 10, 40<<10 + 1, 64 << 10, 64<<10 + 1,
	128 << 10, 256 << 10, 256<<10 + 1, 512 << 10, maxMessage,
}

// generator holds what Generate needs while it makes a program.
type generator struct {
	*rand.Rand
	p      *Program
	ledger *ledger
	phase  int
	part   int
	unit   int
	limit  int // largest message of the phase
	budget int // bytes still to be sent in the phase
	wild   float64
	cancel float64
	idle   float64

	due  []*Op // sends of the phase that no receive was made for
	open []*Op // receives of the phase that no send was made for
	reqs map[int][]*Op
}

// Generate returns the program of a seed for n ranks. It is the same on every
// rank and every run.
func Generate(seed uint64, n int) *Program {
	p := &Program{Seed: seed, Ranks: n}
	g := &generator{Rand: p.random(0), p: p, ledger: newLedger(p)}
	for rank := range n {
		threads := 1
		if g.IntN(3) == 0 {
			threads = 2 + g.IntN(4)/3
		}
		for i := range threads {
			p.Threads = append(p.Threads, Thread{rank, i})
		}
	}
	switch g.IntN(4) {
	case 0: // a tag an iteration
		p.tagBase, p.tagStep = int(seed%1000)*4*tagsOfPhase, tagsOfPhase
	case 1:
		p.tagBase = 1 << g.IntN(15)
	}
	p.Phases = 1 + g.IntN(3)
	for phase := range p.Phases {
		g.makePhase(phase)
	}
	return p
}

func (g *generator) makePhase(phase int) {
	g.phase, g.part = phase, exchange
	g.due, g.open, g.reqs = nil, nil, map[int][]*Op{}
	g.limit = []int{64, 64, 300, 4097, 4097, 8193, 16 << 10, 64<<10 + 1, 64<<10 + 1, 256 << 10}[g.IntN(10)]
	if g.IntN(30) == 0 {
		g.limit = maxMessage
	}
	g.budget = max(4*g.limit, 128<<10)
	g.wild = []float64{0, 0.1, 0.3, 0.6}[g.IntN(4)]
	g.cancel = []float64{0, 0.2, 0.5}[g.IntN(3)]
	g.idle = []float64{0, 0.05, 0.2}[g.IntN(3)]

	if g.IntN(3) > 0 {
		g.part = prepost
		for range 1 + g.IntN(3*len(g.p.Threads)) {
			g.receive(Irecv)
		}
		g.part = exchange
	}
	for range len(g.p.Threads) * (3 + g.IntN(10)) {
		g.step()
	}
	if g.IntN(2) == 0 {
		for range len(g.due) {
			g.receive(Irecv)
		}
	}
	if g.IntN(100) == 0 {
		g.flood()
	}
}

// flood adds many sends from one thread to another, and a few receives: more
// than the device holds, and at times more than a receiver keeps unexpected.
// The receiver looks now and then, so that messages leave the device.
func (g *generator) flood() {
	from, to := g.thread(), g.thread()
	n, size := 200+g.IntN(800), []int{0, 8, 40, 200, 300, 4096}[g.IntN(6)]
	if g.IntN(8) == 0 {
		n, size = 2600, 4096
	}
	source := g.p.Threads[from].Rank
	for i := range n {
		tag := g.p.tag(g.phase, from, to, g.IntN(tagKinds))
		o := Op{Thread: from, Kind: Isend, Dest: to, Tag: tag, Size: size}
		switch g.IntN(40) {
		case 0:
			g.add(Op{Thread: to, Kind: Irecv, From: source, RTag: tag, Cap: size})
		case 1:
			o.Mode, o.Size = Mode(g.IntN(int(Ready))), g.IntN(size+1)
		}
		g.add(o)
		if i%8 == 0 {
			g.add(Op{Thread: from, Kind: Pause})
			g.add(Op{Thread: to, Kind: Iprobe, Peek: true, From: source, RTag: tag})
		}
	}
}

// step tries to add one operation.
func (g *generator) step() {
	if g.Float64() < g.idle {
		g.add(Op{Thread: g.thread(), Kind: Pause, Size: []int{0, 0, 0, 1, 5, 30, 200}[g.IntN(7)]})
	}
	switch w := g.IntN(100); {
	case w < 30:
		g.send(Isend)
	case w < 40:
		g.send(Send)
	case w < 55:
		g.receive(Irecv)
	case w < 62:
		g.receive(Recv)
	case w < 65:
		g.receive(Probe)
	case w < 70:
		g.receive(Iprobe)
	case w < 74:
		g.sendrecv()
	case w < 80:
		g.onRequests(Test)
	case w < 86:
		g.onRequests(Wait)
	case w < 89:
		g.onRequests(WaitAll)
	case w < 92:
		g.onRequests(WaitAny)
	case w < 98:
		g.onRequests(Cancel)
	default:
		g.add(Op{Thread: g.thread(), Kind: Null, Tag: g.IntN(nulls)})
	}
}

// add numbers the operations of one unit and appends them to the program if
// the ledger admits them.
func (g *generator) add(unit ...Op) bool {
	for i := range unit {
		o := &unit[i]
		o.ID, o.Phase, o.Part, o.Unit = len(g.p.Ops)+i, g.phase, g.part, g.unit
	}
	if !g.ledger.admit(unit) {
		return false
	}
	g.unit++
	g.p.Ops = append(g.p.Ops, unit...)
	return true
}

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
	if g.Float64() < g.wild {
		o.From = AnySource
	}
	if g.p.single(thread) && g.Float64() < g.wild {
		o.RTag = AnyTag
	}
	return o
}

func (g *generator) receive(kind Kind) {
	o := g.incoming(g.thread())
	o.Kind = kind
	o.Cancelable = kind == Irecv && g.Float64() < g.cancel
	o.Peek = kind == Iprobe && g.IntN(3) == 0
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
		unit = append(unit, Op{
			Thread: t, Kind: Sendrecv, Dest: next, Tag: g.p.tag(g.phase, t, next, k), Size: g.size(),
			From: g.p.Threads[prev].Rank, RTag: g.p.tag(g.phase, prev, t, k), Cap: g.limit,
		})
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

package randprog

import (
	"math/rand/v2"
	"slices"
)

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
	8191, 8192, 8193, 16 << 10, 16<<10 + 1, 32<<10 - 1, 32 << 10, 40<<10 + 1, 64 << 10, 64<<10 + 1,
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

// Generate returns the program of a seed for n ranks that keeps to rules. It is
// the same on every rank and every run.
func Generate(seed uint64, n int, rules Rules) *Program {
	p := &Program{Seed: seed, Ranks: n, Rules: rules}
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
	if g.p.Rules.Counted {
		g.cancel = 0
	}

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
	if g.p.Rules.Counted {
		g.answer()
	}
}

// answer adds a send for every receive that has none.
func (g *generator) answer() {
	for _, r := range slices.Clone(g.ledger.recvs) {
		for from, t := range g.p.Threads {
			for k := range tagKinds {
				if t.Rank == r.From && g.p.tag(g.phase, from, r.Thread, k) == r.RTag && !g.ledger.recvEnds(r) {
					o := Op{Thread: from, Kind: Isend, Dest: r.Thread, Tag: r.RTag}
					o.Size = g.fitting(g.ledger.sendEnd(&o), g.size())
					g.add(o)
				}
			}
		}
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
			r := Op{Thread: to, Kind: Irecv, From: source, RTag: tag}
			r.Cap = g.fitting(g.ledger.recvEnd(&r), size)
			g.add(r)
		case 1:
			o.Mode, o.Size = Mode(g.IntN(int(Ready))), g.IntN(size+1)
		}
		o.Size = g.fitting(g.ledger.sendEnd(&o), o.Size)
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
		g.receive(g.probeOr(Probe, Recv))
	case w < 70:
		g.receive(g.probeOr(Iprobe, Irecv))
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

// probeOr returns probe where programs may probe, else the other kind.
func (g *generator) probeOr(probe, other Kind) Kind {
	if g.p.Rules.paired() {
		return other
	}
	return probe
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

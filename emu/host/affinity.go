package host

import (
	"math/bits"
	"runtime"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Which ranks share cores, and how one of them lets another run. It follows from
// where the ranks may run: launchers bind them to a core each, to a socket, or not
// at all. The last rank that joins works it out for all, so all ranks see the same.

// occupancy is how a rank that waits hands its core over to the one it waits for.
type occupancy uint32

const (
	dedicated occupancy = iota // it need not: each has one
	yielding                   // more ranks than cores, oversubscribed: a yield does
	sleeping                   // the same, but a yield may not, see sys.SchedGroup: sleep does
)

// turnsMost is how many ranks of a core can take turns by yields. Where there are more, a rank that has slept, as each
// has when they do not arrive at once, finds itself behind so many that those sleep in their turn before it has come
// round: then they sleep at once.
const turnsMost = 64

// cpuWords are those of a set of processors, as the kernel numbers them.
const cpuWords = 16

type cpuSet [cpuWords]uint64

func (s *cpuSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s *cpuSet) meets(o *cpuSet) bool {
	for i, w := range s {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

func (s *cpuSet) within(o *cpuSet) bool {
	for i, w := range s {
		if w&^o[i] != 0 {
			return false
		}
	}
	return true
}

func (s *cpuSet) add(o *cpuSet) {
	for i, w := range o {
		s[i] |= w
	}
}

// ownCPUs are the processors that this process may run on.
func ownCPUs() (s cpuSet) {
	cores, _ := sys.Affinity()
	for _, i := range cores {
		if i < cpuWords*64 {
			s[i/64] |= 1 << (i % 64)
		}
	}
	if s.count() == 0 { // more than fit: only their number counts
		for i := range min(runtime.NumCPU(), cpuWords*64) {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// affinity is where a rank may run.
type affinity struct {
	cpus  cpuSet
	group uint64
}

// class is what follows for it. It has cores in common with its sharers, of which
// it is one.
type class struct {
	occupancy      occupancy
	sharers, cores int
}

// PerCore is how many ranks a core has at most if those that share cores with this one, which is
// one of them, are spread evenly.
func (v *class) PerCore() int { return (v.sharers + v.cores - 1) / v.cores }

// classify finds out for each affinity whether there are more ranks than cores: on those
// that this rank may run on, or on these and all that are connected with them by
// other ranks' affinities.
func classify(ranks []affinity) []class {
	type part struct {
		cpus  cpuSet
		ranks int
		group uint64
		mixed bool // ranks of several groups
	}
	var exact, joint []part // by set of processors; those that meet as one
	for i := range ranks {
		r := &ranks[i]
		p := part{cpus: r.cpus, ranks: 1, group: r.group}
		if k := slices.IndexFunc(exact, func(e part) bool { return e.cpus == r.cpus }); k < 0 {
			exact = append(exact, p)
		} else {
			exact[k].ranks++
			exact[k].mixed = exact[k].mixed || exact[k].group != r.group
		}
		rest := joint[:0]
		for _, j := range joint {
			if !j.cpus.meets(&p.cpus) {
				rest = append(rest, j)
				continue
			}
			p.cpus.add(&j.cpus)
			p.ranks += j.ranks
			p.mixed = p.mixed || j.mixed || j.group != p.group
		}
		joint = append(rest, p)
	}
	of := func(cpus *cpuSet) class {
		inside := part{cpus: *cpus}
		for _, e := range exact {
			if e.cpus.within(cpus) {
				if inside.ranks == 0 {
					inside.group = e.group
				}
				inside.ranks += e.ranks
				inside.mixed = inside.mixed || e.mixed || e.group != inside.group
			}
		}
		for _, j := range joint {
			if cpus.within(&j.cpus) && inside.ranks <= inside.cpus.count() {
				inside = j
			}
		}
		v := class{sharers: inside.ranks, cores: inside.cpus.count()}
		switch {
		case v.sharers <= v.cores:
		case inside.mixed:
			v.occupancy = sleeping
		default:
			v.occupancy = yielding
		}
		return v
	}
	classes := make([]class, len(ranks))
	for i := range ranks {
		// Most ranks are like the one before.
		if i > 0 && ranks[i].cpus == ranks[i-1].cpus {
			classes[i] = classes[i-1]
		} else {
			classes[i] = of(&ranks[i].cpus)
		}
	}
	return classes
}

// affinities are those that the ranks of this host have published.
func (j *Job) affinities() (bs []affinity, of []*control) {
	for i := range j.ranks {
		if j.Here(i) {
			bs, of = append(bs, j.control(i).affinity()), append(of, j.control(i))
		}
	}
	return bs, of
}

func (c *control) affinity() (b affinity) {
	b.group = c.group.Load()
	for w := range b.cpus {
		b.cpus[w] = c.cpus[w].Load()
	}
	return b
}

// publishAffinity publishes where this rank may run.
func (c *control) publishAffinity() {
	cpus := ownCPUs()
	for i, w := range cpus {
		c.cpus[i].Store(w)
	}
	c.group.Store(sys.SchedGroup())
	c.thread.Store(uint32(sys.Thread()))
}

// assess tells all ranks how they stand to each other, once all have joined.
func (j *Job) assess() {
	worst, sleep := dedicated, false
	affinities, controls := j.affinities()
	for i, v := range classify(affinities) {
		c := controls[i]
		c.occupancy.Store(uint32(v.occupancy))
		c.sharers.Store(uint32(v.sharers))
		c.cores.Store(uint32(v.cores))
		worst = max(worst, v.occupancy)
		sleep = sleep || v.occupancy == sleeping || v.PerCore() > turnsMost
	}
	j.head.worst.Store(uint32(worst))
	if sleep {
		j.head.fence.Store(1)
	}
}

// class is what assess has found out for a rank.
func (c *control) class() class {
	return class{occupancy(c.occupancy.Load()), int(c.sharers.Load()), int(c.cores.Load())}
}

// Oversubscribed reports whether any rank has to share a core with another: all ranks say
// the same, once all have joined.
func (m *Member) Oversubscribed() bool {
	if m.job.localRings != nil {
		return m.occupancy != dedicated
	}
	return occupancy(m.job.head.worst.Load()) != dedicated
}

// Core is the core that this rank runs on, as a number from 1, of which it tells the others. It is 0 where ranks do
// not share cores.
func (m *Member) Core() uint32 {
	if m.job.localBells != nil || !m.Oversubscribed() {
		return 0
	}
	core := sys.Core()
	if m.self.core.Load() != core {
		m.self.core.Store(core)
	}
	return core
}

// wanted reports whether another rank is awake that ran on a core when it waited last.
func (m *Member) wanted(core uint32) bool {
	for i := range m.job.ranks {
		c := m.job.control(i)
		if c.core.Load() == core && c.flags.Load()&bellForeground == 0 && i != m.me {
			return true
		}
	}
	return false
}

// Yielding reports whether any rank has to, and yields hand cores over wherever ranks
// share them: all ranks say the same, once all have joined.
func (m *Member) Yielding() bool {
	return m.job.localBells == nil && occupancy(m.job.head.worst.Load()) == yielding
}

// HandOver is what a yield takes at least if another one runs meanwhile, if any rank has to share a core and some
// yields only hand it over. Else it is 0. All ranks say the same, once all have joined.
func (m *Member) HandOver() time.Duration {
	if m.job.localBells == nil && occupancy(m.job.head.worst.Load()) == sleeping {
		return handOver
	}
	return 0
}

package reproduce

import (
	"fmt"

	"github.com/exanet-mpi/exanet/reproduce/skeleton"
)

// row is how a claim is worked out: groups of figures for the rule, and what the report should say
// besides.
type row struct {
	groups func(s *sheet) []group
	how    string // what was run and taken, if the claim leaves it open
	share  bool   // the figures are shares of fast receives
	// unless it agrees: what the report says about why.
	why string
}

// pairs of two ranks, and collectives.
func pair(bench, topology string) setup { return setup{bench: bench, topology: topology, ranks: 2} }

func many(bench, topology string) setup { return setup{bench: bench, topology: topology} }

func one(values []float64) []group { return []group{{values: values}} }

const (
	writeOne   = "rtr"     // write_based 1.0 of the thesis's chapter 4
	writeTwo   = "envless" // 2.0
	writeThree = "ticket"  // 3.0
	optimistic = "optimistic"
	readbased  = "readbased"
)

var allVariants = []string{readbased, writeOne, writeTwo, writeThree, optimistic}

// values are the figures of a benchmark over sizes.
func (s *sheet) values(u setup, variant string, sizes []int) (list []float64) {
	u.variant = variant
	for _, u.size = range sizes {
		list = append(list, s.of(u).value)
	}
	return list
}

// difference compares two variants over the claim's numbers of ranks.
func difference(u setup, ranks []int, from, to int, a, b string) func(s *sheet) []group {
	return func(s *sheet) []group {
		if ranks == nil {
			return one(s.against(u, s.sizes(from, to), a, b))
		}
		return s.perRanks(u, ranks, s.sizes(from, to), a, b)
	}
}

var (
	three = []int{16, 64, 128}
	four  = []int{16, 32, 64, 128}
)

// osuWeight is how many iterations OSU makes of a size (5.6.2, collectives).
func osuWeight(size int) float64 {
	if size > 8192 {
		return 100
	}
	return 1000
}

// shares are the shares of fast receives of a collective over all sizes that OSU runs by default,
// each as often as OSU runs it. Eager messages have none.
func shares(name string, ranks []int, least int) func(s *sheet) []group {
	return func(s *sheet) []group {
		var list []group
		for _, n := range ranks {
			sum, weights := 0.0, 0.0
			for size := least; size <= 1<<20; size *= 2 {
				w := osuWeight(size)
				if size > 32 && s.quick && size > 16384 {
					continue
				}
				weights += w
				if size > 32 {
					u := many(name, inOrder)
					u.ranks, u.size, u.variant = n, size, writeThree
					sum += w * fastShare(s.of(u))
				}
			}
			g := group{values: []float64{100 * sum / weights}}
			if len(ranks) > 1 {
				g.name = fmt.Sprintf("%d ranks", n)
			}
			list = append(list, g)
		}
		return list
	}
}

func fastShare(f reading) float64 {
	if f.receives == 0 {
		return 0
	}
	return float64(f.fast) / float64(f.receives)
}

// codeClaim compares a figure of skeletons, with the communication shares of the text.
func codeClaim(name string, ranks []int, share []float64, of func(a, b account) float64) func(s *sheet) []group {
	return func(s *sheet) []group {
		var list []group
		for i, n := range ranks {
			a, b := s.accounts(name, n, share[i], writeThree, readbased)
			if s.err != nil {
				return nil
			}
			list = append(list, group{fmt.Sprintf("%d ranks", n), []float64{of(a, b)}})
		}
		return list
	}
}

func communication(a, b account) float64 { return percent(a.communication, b.communication) }
func totalTime(a, b account) float64     { return percent(a.total, b.total) }
func throughput(a, b account) float64    { return percent(b.total, a.total) }

// The communication shares that the text states for 16, 32, 64, 128 ranks, SP's for 25, 64, 121.
var (
	shareLU = []float64{0.15, 0.25, 0.30, 0.33}
	shareMG = []float64{0.05, 0.08, 0.09}
	shareIS = []float64{0.24, 0.41, 0.50, 0.50}
	shareSP = []float64{0.06, 0.10, 0.10}
	// HPCG's "does not surpass 3 percent".
	shareHPCG = []float64{0.03, 0.03, 0.03}
)

// Nanoseconds an atom and a time step, from LAMMPS' manual (Performance & scalability, until 2014), on a Pentium 4 of
// 1.7 GHz: the text has no communication share, and no figure for an A53.
const (
	pointEAM   = 9380
	pointChute = 2180
)

// lammps are LAMMPS' two problems.
var lammps = []struct {
	name  string
	point float64
}{{skeleton.EAM.Name, pointEAM}, {skeleton.Chute.Name, pointChute}}

func lammpsClaim(s *sheet) []group {
	var list []group
	for _, c := range lammps {
		a, b := s.atPoint(setup{bench: c.name, topology: inOrder, ranks: 128}, c.point, writeThree, readbased)
		if s.err != nil {
			return nil
		}
		list = append(list, group{c.name, []float64{throughput(a, b)}})
	}
	return list
}

// rows has one entry for each claim of kind calibration and prediction that is simulated.
var rows = map[string]row{
	"E1": {groups: func(s *sheet) []group { return one(s.values(pair("latency", sameQFDB), readbased, s.eager(0))) }},
	"E2": {groups: func(s *sheet) []group {
		var list []group
		for _, v := range []string{writeOne, writeTwo} {
			list = append(list, group{v, s.values(pair("latency", sameQFDB), v, s.eager(0))})
		}
		return list
	}},
	"E3": {groups: func(s *sheet) []group {
		return one(s.against(pair("latency", sameQFDB), s.eager(0), writeThree, writeOne))
	}},
	"E4": {groups: func(s *sheet) []group {
		return one(s.against(pair("latency", sameQFDB), s.eager(0), writeThree, readbased))
	}},
	"E5": {groups: func(s *sheet) []group {
		return one(s.against(pair("latency", sameQFDB), s.eager(0), optimistic, writeThree))
	}},
	"E6": {groups: difference(pair("latency", sameQFDB), nil, 128, 256, writeThree, readbased)},
	"E7": {groups: func(s *sheet) []group {
		var list []group
		for _, v := range []string{readbased, writeOne, writeTwo} {
			list = append(list, group{v, s.against(pair("latency", sameQFDB), s.sizes(512, 4096), writeThree, v)})
		}
		return list
	}},
	"E8": {share: true, groups: func(s *sheet) []group {
		var list []group
		for _, t := range []string{sameQFDB, hops3} {
			g := group{name: t}
			for _, size := range s.sizes(64, 65536) {
				u := pair("latency", t)
				u.variant, u.size = writeThree, size
				g.values = append(g.values, 100*fastShare(s.of(u)))
			}
			list = append(list, g)
		}
		return list
	}},
	"E9": {how: "readbased and ticket; rtr and envless, whose eager protocol has more messages, are apart in the text",
		groups: func(s *sheet) []group {
			var list []group
			for _, v := range []string{readbased, writeThree} {
				near, far := s.values(pair("latency", sameQFDB), v, s.eager(0)),
					s.values(pair("latency", hops3), v, s.eager(0))
				g := group{name: v}
				for i := range near {
					g.values = append(g.values, percent(far[i], near[i]))
				}
				list = append(list, g)
			}
			return list
		}},
	"E10": {groups: func(s *sheet) []group {
		return one(s.against(pair("latency", hops3), s.eager(0), writeThree, readbased))
	}},
	"E11": {how: "64 to 512 B are taken for \"the next sizes\"",
		groups: difference(pair("latency", hops3), nil, 64, 512, writeThree, readbased)},
	"E12": {groups: difference(pair("latency", hops5), nil, 64, 512, writeThree, readbased)},
	"E13": {how: "against each of the other three", groups: func(s *sheet) []group {
		var list []group
		for _, v := range []string{writeOne, writeTwo} {
			for _, w := range []string{readbased, writeThree, optimistic} {
				list = append(list, group{v, s.against(pair("bw", sameQFDB), s.eager(1), v, w)})
			}
		}
		return list
	}},
	"E14": {groups: func(s *sheet) []group {
		return one(s.against(pair("bw", sameQFDB), []int{32}, writeThree, readbased))
	}},
	"E15": {groups: func(s *sheet) []group {
		var list []group
		for _, v := range allVariants {
			rates := s.values(pair("bw", sameQFDB), v, []int{32, 64})
			list = append(list, group{v, []float64{percent(rates[1], rates[0])}})
		}
		return list
	}},
	"E16": {how: "ticket, in one QFDB", groups: func(s *sheet) []group {
		var list []group
		for _, size := range []int{64, 128, 256} {
			list = append(list, group{fmt.Sprintf("%d B", size),
				s.values(pair("bw", sameQFDB), writeThree, []int{size})})
		}
		return list
	}},
	"E17": {groups: difference(pair("fastrecv", sameQFDB), nil, 64, 1024, writeThree, readbased)},
	"E18": {groups: difference(pair("fastrecv", sameQFDB), nil, 8192, 8192, writeThree, readbased)},
	"E19": {how: "64 B, the small end", groups: difference(pair("fastrecv", hops3), nil, 64, 64, readbased,
		writeThree)},
	"E20": {how: "64 B, the small end", groups: difference(pair("fastrecv", hops5), nil, 64, 64, readbased,
		writeThree)},
	"E21": {groups: difference(many("bcast", inOrder), three, 64, 1024, writeThree, readbased)},
	"E22": {share: true, how: shareHow, groups: shares("bcast", three, 1)},
	"E23": {groups: func(s *sheet) []group {
		return s.perRanks(many("bcast", inOrder), []int{16}, s.eager(1), writeThree, readbased)
	}},
	"E24": {groups: difference(many("bcast", inOrder), []int{16}, 64, 512, optimistic, writeThree)},
	"E25": {how: shuffleHow, groups: difference(many("bcast", shuffled), []int{16}, 64, 1024, writeThree, readbased)},
	"E26": {groups: func(s *sheet) []group {
		return s.perRanks(many("reduce", inOrder), []int{16}, s.eager(4), writeThree, readbased)
	}},
	"E27": {groups: difference(many("reduce", inOrder), three, 64, 8192, writeThree, readbased)},
	"E28": {share: true, how: shareHow, groups: shares("reduce", []int{16}, 4)},
	"E29": {how: "2 KiB to 128 KiB: the three sizes above have, in the text, a difference of another cause (see E61)",
		groups: difference(many("reduce", inOrder), []int{16}, 2048, 131072, writeThree, readbased)},
	"E30": {how: shuffleHow, groups: difference(many("reduce", shuffled), []int{128}, 512, 512, writeThree, readbased)},
	"E31": {groups: func(s *sheet) []group {
		return s.perRanks(many("barrier", inOrder), three, []int{0}, writeThree, readbased)
	}},
	"E32": {groups: difference(many("scatter", inOrder), []int{16}, 64, 1024, readbased, writeThree)},
	"E33": {share: true, how: shareHow + "; of all ranks together", groups: shares("scatter", []int{16}, 1)},
	"E34": {groups: difference(many("allreduce", inOrder), three, 64, 8192, readbased, writeThree)},
	"E35": {share: true, how: shareHow, groups: shares("allreduce", three, 4)},
	"E36": {how: "the mean over 16, 64 and 128 ranks, since the text does not say of how many the figure is",
		groups: func(s *sheet) []group {
			ranks := three
			if s.quick {
				ranks = []int{16}
			}
			var list []float64
			for _, n := range ranks {
				u := many("mpigraph", inOrder)
				u.ranks = n
				list = append(list, s.against(u, []int{graphBytes}, optimistic, readbased)...)
			}
			return one(list)
		}},
	"E37": {how: "the finest level, as the claim has it",
		groups: difference(many("halo", inOrder), three, 64, 64, writeThree, readbased)},
	"E44": {groups: codeClaim("LU", four, shareLU, communication)},
	"E45": {groups: codeClaim("MG", four[:3], shareMG, communication)},
	"E46": {groups: codeClaim("IS", four, shareIS, communication)},
	"E47": {groups: codeClaim("SP", []int{25, 64, 121}, shareSP, totalTime)},
	"E48": {groups: difference(many("dot", inOrder), three, 64, 64, writeThree, readbased)},
	"E49": {how: "computation from LAMMPS' manual: 9.38 and 2.18 us an atom and step", groups: lammpsClaim},
	"E57": {groups: difference(pair("bw", sameQFDB), nil, 256, 256, readbased, writeThree)},
	"E58": {how: "ticket against readbased at a distance, less the same in one QFDB, in points",
		groups: func(s *sheet) []group {
			sizes := s.sizes(64, 65536)
			near := s.against(pair("bw", sameQFDB), sizes, writeThree, readbased)
			var list []group
			for _, t := range []string{hops3, hops5} {
				far := s.against(pair("bw", t), sizes, writeThree, readbased)
				for i := range far {
					far[i] -= near[i]
				}
				list = append(list, group{t, far})
			}
			return list
		}},
	"E59": {groups: difference(many("allreduce", inOrder), three, 16384, 65536, writeThree, readbased)},
	"E60": {groups: codeClaim("HPCG", three, shareHPCG, throughput)},
}

const (
	shareHow = "all sizes that OSU runs by default, weighted with its iterations; the barriers between calls are " +
		"left out"
	shuffleHow = "the mean over three shuffles"
)

// graphBytes is the size of mpiGraph's messages.
const graphBytes = 16384

// notBuilt are the rows of what this project does not have.
var notBuilt = map[string]string{
	"E50": "There is no build that waits on POSIX semaphores, so this was not simulated.",
	"E51": "The first counter design of thesis 3.5 (a count of eager receives in each RTR, crafted requests) is not " +
		"built: the ticket replaced it.",
	"E52": "The first counter design is not built, so there is nothing to compare ticket with.",
}

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/bench/floor"
)

// Where the figures of the bounds are.
var (
	latencyColumn  = column{"latency", "latency", "latency", "Latency (us)"}
	bwColumn       = column{"bandwidth", "bw", "bw", "Bandwidth (MB/s)"}
	bibwColumn     = column{"bandwidth", "bibw", "bibw", "Bandwidth (MB/s)"}
	rateColumn     = column{"rate", "mbw_mr", "mbw_mr", "Messages/s"}
	togetherColumn = column{"overlap", "computing", "computing", "Together (us)"}
	computesColumn = column{"overlap", "computing", "computing", "Computation (us)"}
	manyColumn     = column{"unexpected", "unexpected", "unexpected", "Both (us)"}
	startColumn    = column{"start", "initfini", "initfini", "Both (ms)"}
	wakeColumn     = column{"wake", "wake", "wake", "Wake-up (us)"}
	goLatency      = column{"go", "go latency", "latency", "us"}
	goAllocations  = column{"go", "go latency", "latency", "Allocations"}
)

func collectiveColumn(section, job, name string) column {
	return column{section, job, name, "Avg Latency(us)"}
}

func idleColumn(call string) column { return column{"idle", "idle", "idle, " + call, "CPU (%)"} }

func excessColumn(call string) column {
	return column{"overlap", "overlap", "overlap, " + call, "Excess (us)"}
}

var (
	idleCalls    = []string{"Recv", "Wait", "Ssend", "Barrier", "Allreduce"}
	overlapCalls = []string{"Irecv", "Isend"}
)

// With this and less a message counts as as fast as the machine allows.
const nearFloor = 1.1

// floorTime is the least time in microseconds that a message of a size takes without
// any MPI; 0 if it was not measured.
func (s Set) floorTime(size int) float64 { return s.leastTime(floorWays, size) }

func (s Set) leastTime(ways []string, size int) float64 {
	least := 0.0
	for _, way := range ways {
		if f := s.one("floor", "copies", inGo, floorTable, way, size); f != nil && (least == 0 || f.median() < least) {
			least = f.median()
		}
	}
	return least
}

// Columns of exanet bench floor --sizes.
const floorTable = "exanet bench floor, one message"

var floorWays = []string{"Shared (us)", "One copies (us)", "Both copy (us)"}

var exchangeWays = []string{"Exchange (us)", "and shared (us)"}

// exchangeTime is the least time in microseconds of a call in which each of two ranks has a
// block for either; 0 if it was not measured.
func (s Set) exchangeTime(size int) float64 { return s.leastTime(exchangeWays, size) }

// exchanges are the collectives that are one.
var exchanges = []string{"allgather", "allgatherv", "alltoall", "alltoallv"}

// verdicts is the whole table.
func (s Set) verdicts() []verdict {
	return []verdict{
		s.latencyVerdict(),
		s.bandwidthVerdict("bandwidth, window 64", "at least 1.0 (0.97 where the bare copy is no faster); from 512 KiB at least 1.5", bwColumn, 1.5),
		s.bandwidthVerdict("bandwidth both ways, window 64", "at least 1.0 (0.97 where the bare copy is no faster)", bibwColumn, 0),
		s.rateVerdict(),
		s.collectivesVerdict(),
		s.crowdVerdict(),
		s.rootedVerdict(),
		s.cgVerdict(),
		s.scalapackVerdict(),
		s.idleVerdict(),
		s.wakeVerdict(),
		s.overlapVerdict(),
		s.computingVerdict(),
		s.unexpectedVerdict(),
		s.startVerdict(),
		s.refusedVerdict(),
		s.goVerdict(),
	}
}

func (s Set) latencyVerdict() verdict {
	return eachOpponent("latency, 2 ranks", "at most 0.85, or within 10 % of the floor; mean at most 0.6", func(o opponent) cell {
		list, why := s.points(latencyColumn, o.ours, s.against(latencyColumn, o.alone))
		if list == nil {
			return missing(why)
		}
		return judge(list, func(p point) bool {
			return p.ratio <= 0.85 || p.ours.median() <= nearFloor*s.floorTime(p.size)
		}, func(mean float64) bool { return mean <= 0.6 })
	})
}

func (s Set) bandwidthVerdict(what, bound string, c column, large float64) verdict {
	return eachOpponent(what, bound, func(o opponent) cell {
		list, why := s.points(c, o.ours, s.against(c, o.alone))
		if list == nil {
			return missing(why)
		}
		return judge(list, func(p point) bool {
			least := 1.0
			if f := s.floorTime(p.size); f > 0 && p.ours.median() >= float64(p.size)/f/nearFloor {
				least = 0.97
			}
			if p.size >= 512<<10 {
				least = max(least, large)
			}
			return p.ratio >= least
		}, nil)
	})
}

func (s Set) rateVerdict() verdict {
	v := eachOpponent("message rate, 8 B", "at least 1.5 of the better of the two", func(o opponent) cell {
		list, why := s.points(rateColumn, o.ours, s.better(rateColumn, true))
		if list == nil {
			return missing(why)
		}
		return judge(list, func(p point) bool { return p.ratio >= 1.5 }, nil)
	})
	return v
}

// ofAll joins the points of several columns, with their names.
func (s Set) ofAll(columns []column, ours string, base func(c column) func(int) (*Figure, string)) (all []point, why string) {
	for _, c := range columns {
		list, why := s.points(c, ours, base(c))
		if list == nil {
			return nil, why
		}
		for _, p := range list {
			if p.at = c.table + " " + p.at; p.size == 0 {
				p.at = c.table
			}
			if c.section == "crowd" {
				p.at = c.job + " " + p.at
			}
			all = append(all, p)
		}
	}
	return all, ""
}

func columnsOf(section string, jobs, names []string) (list []column) {
	for _, job := range jobs {
		for _, name := range names {
			list = append(list, collectiveColumn(section, job, name))
		}
	}
	return list
}

func (s Set) collectivesVerdict() verdict {
	return eachOpponent("collectives of 2 ranks, 8 B to 1 MiB", "at most 0.9 each; mean at most 0.7", func(o opponent) cell {
		list, why := s.ofAll(columnsOf("collectives", []string{"2 ranks"}, collectives), o.ours, func(c column) func(int) (*Figure, string) {
			return s.against(c, o.alone)
		})
		if list == nil {
			return missing(why)
		}
		return judge(list, func(p point) bool { return p.ratio <= 0.9 }, func(mean float64) bool { return mean <= 0.7 })
	})
}

// crowdColumns are those of the collectives that were measured with more ranks than cores:
// the quick form leaves some out.
func (s Set) crowdColumns(names []string) []column {
	return slices.DeleteFunc(columnsOf("crowd", []string{"4 ranks", "8 ranks"}, names), func(c column) bool {
		return c.job == "8 ranks" && s.series(c, mpichOurs) == nil && s.series(c, openmpiOurs) == nil &&
			s["crowd"] != nil && strings.HasPrefix(s["crowd"].Form, "quick")
	})
}

func (s Set) crowdVerdict() verdict {
	return eachOpponent("4 and 8 ranks on few cores: barrier, reduce, allreduce, allgather, alltoall, to 64 KiB", "at most 1/200 of MPICH, 0.8 of Open MPI", func(o opponent) cell {
		list, why := s.ofAll(s.crowdColumns(crowded), o.ours, func(c column) func(int) (*Figure, string) { return s.against(c, o.alone) })
		if list == nil {
			return missing(why)
		}
		most := 0.8
		if o.alone == mpichAlone {
			most = 1.0 / 200
		}
		return judge(list, func(p point) bool { return p.ratio <= most }, nil)
	})
}

func (s Set) rootedVerdict() verdict {
	return eachOpponent("the same: bcast, scatter", "no worse than the better of the two", func(o opponent) cell {
		list, why := s.ofAll(s.crowdColumns(crowdedRooted), o.ours, func(c column) func(int) (*Figure, string) { return s.better(c, false) })
		if list == nil {
			return missing(why)
		}
		return judge(list, func(p point) bool { return p.ratio <= 1 }, nil)
	})
}

func (s Set) cgVerdict() verdict {
	v := verdict{what: "conjugate gradients (examples/cg), 4 ranks on 2 cores", bound: "at most 1.3 times 2 ranks"}
	two, four := s.one("cg", "cg, 2 ranks", inGo, "cg", "Seconds", 0), s.one("cg", "cg, 4 ranks", inGo, "cg", "Seconds", 0)
	c := cell{against: inGo}
	switch {
	case two == nil:
		c = missing(s.why("cg", "cg, 2 ranks", inGo))
	case four == nil:
		c = missing(s.why("cg", "cg, 4 ranks", inGo))
	default:
		r := ratio(four, two)
		c.text = fmt.Sprintf("%.2f (%.2f s to %.2f s)", r, four.median(), two.median())
		if r > 1.3 {
			c.state = broken
		}
	}
	v.cells = []cell{c}
	return v
}

func (s Set) scalapackVerdict() verdict {
	v := verdict{what: "ScaLAPACK's xdlu, 4 ranks", bound: "at most 1/20 of MPICH"}
	ours, alone := s.one("scalapack", "xdlu", mpichOurs, runTable, runSeconds, 0), s.one("scalapack", "xdlu", mpichAlone, runTable, runSeconds, 0)
	cut := s.one("scalapack", "xdlu", mpichAlone, runTable, runCutAfter, 0)
	c := cell{against: mpichAlone}
	switch {
	case ours == nil:
		c = missing(s.why("scalapack", "xdlu", mpichOurs))
	case alone == nil && cut == nil:
		c = missing(s.why("scalapack", "xdlu", mpichAlone))
	case alone == nil:
		most := ours.median() / cut.median()
		c.text = fmt.Sprintf("%.1f s; MPICH was ended after %.0f s: less than 1/%.0f", ours.median(), cut.median(), 1/most)
		if most > 1.0/20 { // MPICH might have ended in the next moment
			c.state = unmeasured
		}
	default:
		r := ratio(ours, alone)
		c.text = fmt.Sprintf("1/%.0f (%.1f s to %.1f s)", 1/r, ours.median(), alone.median())
		if r > 1.0/20 {
			c.state = broken
		}
	}
	c.against = mpichAlone
	v.cells = []cell{c}
	return v
}

// worstOf is the largest median of several columns, and where.
func (s Set) worstOf(columns []column, way string) (worst float64, at, why string) {
	for i, c := range columns {
		list := s.series(c, way)
		if list == nil {
			return 0, "", s.why(c.section, c.job, way)
		}
		for _, f := range list {
			if m := f.median(); i == 0 || m > worst {
				worst, at = m, c.table
			}
		}
	}
	return worst, at, ""
}

func (s Set) idleVerdict() verdict {
	var columns []column
	for _, call := range idleCalls {
		columns = append(columns, idleColumn(call))
	}
	return eachOpponent("processor time of a rank that is blocked for 2 s", "under 1 % of a core", func(o opponent) cell {
		ours, at, why := s.worstOf(columns, o.ours)
		if why != "" {
			return missing(why)
		}
		c := cell{text: fmt.Sprintf("%.2f %% (%s)", ours, at)}
		if theirs, _, why := s.worstOf(columns, o.alone); why == "" {
			c.text += fmt.Sprintf("; %.0f %% without us", theirs)
		}
		if ours >= 1 {
			c.state = broken
		}
		return c
	})
}

func (s Set) wakeVerdict() verdict {
	return eachOpponent("a message to a rank that sleeps, and its answer", "at most 1.2 of a futex wake-up", func(o opponent) cell {
		list := s.series(wakeColumn, o.ours)
		bare := s.one("wake", "floor", inGo, "futex wake-up", "us", 0)
		switch {
		case list == nil:
			return missing(s.why("wake", "wake", o.ours))
		case bare == nil:
			return missing(s.why("wake", "floor", inGo))
		}
		r := ratio(list[0], bare)
		c := cell{text: fmt.Sprintf("%.2f (%.1f us to %.1f us)", r, list[0].median(), bare.median())}
		if r > 1.2 {
			c.state = broken
		}
		return c
	})
}

func (s Set) overlapVerdict() verdict {
	var columns []column
	for _, call := range overlapCalls {
		columns = append(columns, excessColumn(call))
	}
	return eachOpponent("1 MiB Irecv or Isend under a computation, the peer in Send or Recv: excess", "at most 2 us", func(o opponent) cell {
		ours, at, why := s.worstOf(columns, o.ours)
		if why != "" {
			return missing(why)
		}
		c := cell{text: fmt.Sprintf("%.1f us (%s)", ours, at)}
		if theirs, _, why := s.worstOf(columns, o.alone); why == "" {
			c.text += fmt.Sprintf("; %.0f us without us", theirs)
		}
		if ours > 2 {
			c.state = broken
		}
		return c
	})
}

func (s Set) computingVerdict() verdict {
	return eachOpponent("both sides computing, no spare core", "no worse than the better of the two", func(o opponent) cell {
		list, why := s.points(togetherColumn, o.ours, s.better(togetherColumn, false))
		if list == nil {
			return missing(why)
		}
		c := judge(list, func(p point) bool { return p.ratio <= 1 }, nil)
		if f := s.one(computesColumn.section, computesColumn.job, o.ours, computesColumn.table, computesColumn.column, list[0].size); f != nil {
			c.text += fmt.Sprintf("; %.3f of the computation alone", ratio(list[0].ours, f))
		}
		return c
	})
}

func (s Set) unexpectedVerdict() verdict {
	return eachOpponent("10,000 unexpected messages received in reverse order of tags", "at most 0.5 of MPICH; grows linearly", func(o opponent) cell {
		const n = 10000
		ours := s.one(manyColumn.section, manyColumn.job, o.ours, manyColumn.table, manyColumn.column, n)
		if ours == nil {
			return missing(s.why(manyColumn.section, manyColumn.job, o.ours))
		}
		c := cell{}
		if base, why := s.against(manyColumn, mpichAlone)(n); base == nil {
			c = missing(why)
		} else {
			r := ratio(ours, base)
			c.text = fmt.Sprintf("%s (%.1f ms)", ratioName(r), ours.median()/1e3)
			if r > 0.5 {
				c.state = broken
			}
		}
		list := s.series(manyColumn, o.ours)
		first, last := list[0], list[len(list)-1]
		growth := math.Log(last.median()/first.median()) / math.Log(float64(last.Size)/float64(first.Size))
		c.text += fmt.Sprintf("; the time of %d to %d grows with the power %.2f of their number", first.Size, last.Size, growth)
		if growth > 1.15 {
			c.state = broken
		}
		return c
	})
}

func (s Set) startVerdict() verdict {
	return eachOpponent("MPI_Init plus MPI_Finalize, 2 ranks", "at most the MPI's + 20 ms", func(o opponent) cell {
		list, why := s.points(startColumn, o.ours, s.against(startColumn, o.alone))
		if list == nil {
			return missing(why)
		}
		base, _ := s.against(startColumn, o.alone)(list[0].size)
		more := list[0].ours.median() - base.median()
		c := cell{text: fmt.Sprintf("%+.1f ms (%.1f to %.1f)", more, list[0].ours.median(), base.median())}
		if more > 20 {
			c.state = broken
		}
		return c
	})
}

// Where messages are small, and where they are large, when attach is refused.
const (
	refusedSmall = 4 << 10
	refusedLarge = 64 << 10
	unchanged    = 1.1
)

func (s Set) refusedVerdict() verdict {
	return eachOpponent("cross-memory attach refused, to the same without that", "latency to 4 KiB unchanged (within 10 %), bandwidth from 64 KiB at least 0.4, or within 10 % of the bare copies", func(o opponent) cell {
		latency := column{"refused", "latency", "latency", "Latency (us)"}
		bw := column{"refused", "bw", "bw", "Bandwidth (MB/s)"}
		refused := func(c column) column { c.job += " -a"; return c }
		judged := func(c column, counts, keeps func(p point) bool) cell {
			list, why := s.points(refused(c), o.ours, s.against(c, o.ours))
			if list = slices.DeleteFunc(list, func(p point) bool { return !counts(p) }); len(list) == 0 {
				return missing(why)
			}
			return judge(list, keeps, nil)
		}
		small := judged(latency, func(p point) bool { return p.size <= refusedSmall }, func(p point) bool { return p.ratio <= unchanged })
		bare := math.Inf(1)
		if f := s.one("refused", "floor", inGo, floor.StreamName, "MB/s", 0); f != nil {
			bare = f.median()
		}
		large := judged(bw, func(p point) bool { return p.size >= refusedLarge }, func(p point) bool { return p.ratio >= 0.4 || p.ours.median() >= bare/nearFloor })
		return cell{text: "latency " + small.text + "; bandwidth " + large.text, state: max(small.state, large.state)}
	})
}

func (s Set) goVerdict() verdict {
	v := verdict{what: "programs in Go: latency of 8 B", bound: "at most twice the cache line's trip; 0 allocations a message"}
	us := s.one(goLatency.section, goLatency.job, inGo, goLatency.table, goLatency.column, 8)
	allocations := s.one(goAllocations.section, goAllocations.job, inGo, goAllocations.table, goAllocations.column, 8)
	line := s.one("go", "floor", inGo, "cache line, core to core", "ns", 0)
	var c cell
	switch {
	case us == nil || allocations == nil:
		c = missing(s.why("go", "go latency", inGo))
	case line == nil:
		c = missing(s.why("go", "floor", inGo))
	default:
		r := 1e3 * ratio(us, line)
		c.text = fmt.Sprintf("%.2f times (%.3f us, %.1f ns); %.3f allocations", r, us.median(), line.median(), allocations.median())
		if r > 2 || allocations.median() >= 0.01 {
			c.state = broken
		}
	}
	c.against = inGo
	v.cells = []cell{c}
	return v
}

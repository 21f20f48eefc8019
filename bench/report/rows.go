package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/plots"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// bound is what is asked of every point of a row.
type bound struct {
	of   measure
	more bool    // at least the limit, not at most
	mean float64 // the limit of the geometric mean; 0: none
}

// none is a limit that everything keeps.
func (b bound) none() float64 {
	if b.more {
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// name writes a value of the measure; small ratios as 1/N.
func (b bound) name(v float64) string {
	switch {
	case b.of != ratio:
		return number(v)
	case v > 0 && v < 0.02:
		return fmt.Sprintf("1/%.0f", 1/v)
	}
	return fmt.Sprintf("%.2f", v)
}

// row is one of the table: columns whose points are held against a limit.
type row struct {
	section, what, text string // text: the bound in words
	columns             []column
	bound               bound
	better              bool        // against the better MPI, not against the one that it is preloaded under
	than                preload.MPI // against this one; "": as better says
	inGo                bool        // of programs in Go, which no MPI is under
	tcp                 bool        // of TCP alone: it has no limit
	least, most         int         // sizes from here on, and up to here; 0: all

	limit    func(h preload.MPI, c column) float64
	mean     func(h preload.MPI) float64
	baseline float64 // the limit against that; 0: none, what is measured is only said
}

func at(limit float64) func(preload.MPI, column) float64 {
	return func(preload.MPI, column) float64 { return limit }
}

func under(limit float64) func(preload.MPI) float64 {
	return func(preload.MPI) float64 { return limit }
}

// tables are columns of one job with the names of tables.
func tables(job, prefix, name string, names ...string) (list []column) {
	for _, t := range names {
		list = append(list, column{job, prefix + t, name})
	}
	return list
}

var (
	latencyColumn   = column{"latency", "latency", "Latency (us)"}
	bandwidthColumn = column{"bw", "bw", "Bandwidth (MB/s)"}
	startColumn     = column{"initfini", "initfini", "Init (ms)"}
	idleColumns     = tables("idle", "idle, ", "CPU (%)", "Recv", "Wait", "Ssend", "Barrier", "Allreduce")
	making          = []string{"Dup (us)", "Idup (us)", "Split (us)", "Create (us)"}
	overlapColumns  = tables("overlap", "overlap, ", "Excess (us)", "Irecv", "Isend")
)

// rows is the whole table.
func rows() []row {
	crowd := slices.Concat(tables("4 ranks", "", "Avg Latency(us)", crowded...),
		tables("8 ranks", "", "Avg Latency(us)", crowded...))
	var communicators []column
	for _, ranks := range []string{"2 ranks", "4 ranks"} {
		for _, name := range making {
			communicators = append(communicators, column{"communicators, " + ranks, "communicators", name})
		}
	}
	list := []row{
		{section: "latency", what: "latency, 2 ranks, 1 B to 4 MiB", text: "≤1.05, mean ≤0.65",
			columns: []column{latencyColumn}, limit: at(1.05), mean: under(0.65)},
		{section: "bandwidth", what: "bandwidth, window of 64, 1 B to 4 MiB", text: "≥0.95, mean ≥1.4",
			columns: []column{bandwidthColumn}, bound: bound{more: true}, limit: at(0.95), mean: under(1.4)},
		{section: "collectives", what: "15 blocking collectives of 2 ranks, 8 B to 1 MiB",
			text:    "≤1.05, mean ≤0.65",
			columns: tables("2 ranks", "", "Avg Latency(us)", collectives...), limit: at(1.05), mean: under(0.65)},
		{section: "crowd", what: "4 and 8 ranks on 2 cores, 8 B to 64 KiB", columns: crowd,
			text:  "MPICH: ≤1/100 (bcast, scatter 1.1); Open MPI: ≤1.1, mean ≤0.6",
			limit: crowdLimit, mean: crowdMean},
		{section: "calls", what: "calls that enter Go, 8 B",
			text:    "≤2.5",
			columns: tables("short calls", "calls, ", "Latency (us)", forms...), better: true, limit: at(2.5)},
		{section: "calls", what: "the same with data, 16 KiB to 1 MiB", text: "≤1.0",
			columns: tables("long calls", "calls, ", "Latency (us)", moving...), better: true, least: 16 << 10,
			limit: at(1)},
		{section: "communicators", what: "making communicators", text: "≤1.3",
			columns: communicators, limit: at(1.3)},
		{section: "idle", what: "processor time of a rank that is blocked", text: "≤1 % of a core",
			columns: idleColumns, bound: bound{of: absolute}, limit: at(1)},
		{section: "overlap", what: "1 MiB under a computation: time beyond that", text: "≤5 us",
			columns: overlapColumns, bound: bound{of: absolute}, limit: at(5)},
		{section: "start", what: "MPI_Init, 2 ranks", text: "≤20 ms more", columns: []column{startColumn},
			bound: bound{of: difference}, limit: at(20)},
	}
	for _, j := range applications(&Config{}) {
		c := column{j.name, runTable, runSeconds}
		if i := slices.IndexFunc(list, func(x row) bool { return x.what == j.title }); i >= 0 {
			list[i].columns = append(list[i].columns, c)
			continue
		}
		list = append(list, row{section: "applications", what: j.title, text: "≤1.03, baseline 1.05",
			columns: []column{c}, better: true, limit: at(1.03), baseline: 1.05})
	}
	return list
}

// rowsOfNewer are those under newer MPIs, which have learnt to yield. With more ranks than cores, calls that need
// every rank have another bound than those with a root. Of these the time of the barrier behind the call counts, too:
// the ranks may wait for each other in either.
func rowsOfNewer() []row {
	all := []string{"barrier", "allreduce", "allgather", "alltoall"}
	rooted := []string{"bcast", "reduce", "scatter", "gather"}
	limit := func(h preload.MPI, _ column) float64 {
		return map[preload.MPI]float64{preload.MPICH: 0.5, preload.OpenMPI: 0.7}[h]
	}
	list := rows()[:2] // latency and bandwidth
	for i := range list {
		list[i].text, list[i].mean = list[i].text[:len("≤1.05")], nil
	}
	return append(list,
		row{section: "crowd", what: "4 ranks on 2 cores, 8 B to 4 KiB: " + strings.Join(all, ", "),
			text:    "MPICH: ≤0.5; Open MPI: ≤0.7",
			columns: tables("4 ranks", "", "Avg Latency(us)", all...), limit: limit, most: 4 << 10},
		row{section: "crowd", what: "the same, each with a barrier: " + strings.Join(rooted, ", "),
			text:    "≤1.2",
			columns: tables("4 ranks", "", "With barrier(us)", rooted...), limit: at(1.2), most: 4 << 10})
}

func crowdLimit(h preload.MPI, c column) float64 {
	if h == preload.OpenMPI || c.Table == "bcast" || c.Table == "scatter" {
		return 1.1
	}
	return 0.01
}

func crowdMean(h preload.MPI) float64 {
	return map[preload.MPI]float64{preload.OpenMPI: 0.6}[h]
}

// against holds ours, under an MPI, against that, the better one, or the one that the row names.
func (r *results) against(x row, h preload.MPI) cell {
	us := way{h, ours}
	switch {
	case x.inGo:
		us.host = ""
	case x.tcp:
		us, x.limit = tcpAlone, at(x.bound.none())
	}
	for _, c := range x.columns {
		if f := r.failed(c.Job, us); f != nil {
			return cell{f.Way + ": " + f.Why, broken}
		}
	}
	b := x.bound
	if x.mean != nil {
		b.mean = x.mean(h)
	}
	list, why := r.points(x, b, us, func(c column, size int) *figure {
		best := r.one(c, way{cmp.Or(x.than, h), alone}, size)
		for _, other := range hosts {
			if f := r.one(c, way{other, alone}, size); x.better && f != nil &&
				(best == nil || b.more && f.median() > best.median() || !b.more && f.median() < best.median()) {
				best = f
			}
		}
		return best
	}, x.limit, h)
	if list == nil {
		return cell{why, unmeasured}
	}
	return judge(list, b)
}

// points are those of a row in a way. Without figures of either, it says why.
func (r *results) points(x row, b bound, w way, base func(c column, size int) *figure,
	limit func(preload.MPI, column) float64, h preload.MPI) (list []point, why string) {
	for _, c := range x.columns {
		for _, f := range r.series(c, w) {
			if f.Size < x.least || x.most > 0 && f.Size > x.most {
				continue
			}
			theirs := base(c, f.Size)
			if theirs == nil && b.of != absolute {
				return nil, r.why(c.Job, way{cmp.Or(x.than, h), alone})
			}
			list = append(list, newPoint(x.place(c, f.Size), b.of, f, theirs, limit(h, c)))
		}
	}
	if list == nil {
		return nil, r.why(x.columns[0].Job, w)
	}
	return list, ""
}

// place names a point of a row.
func (x row) place(c column, size int) string {
	name := c.Table[strings.LastIndex(c.Table, ", ")+1:] // without the benchmark
	name = strings.TrimSpace(name)
	if x.section == "crowd" {
		name = c.Job + ", " + name
	}
	switch {
	case x.section == "communicators":
		return strings.Fields(c.Column)[0] + c.Job[strings.LastIndex(c.Job, ", "):]
	case x.section == "applications":
		return c.Job[strings.LastIndex(c.Job, ", ")+2:]
	case len(x.columns) == 1:
		return plots.SizeName(size)
	case size == 0 || x.bound.of != ratio:
		return name
	}
	return name + " of " + plots.SizeName(size)
}

// why says why a job has no figures in a way.
func (r *results) why(job string, w way) string {
	if f := r.failed(job, w); f != nil {
		return f.Way + ": " + f.Why
	}
	return "-"
}

// againstBaseline holds ours against the baseline, under all MPIs.
func (r *results) againstBaseline(x row) cell {
	if x.tcp {
		return cell{"-", unmeasured}
	}
	b := bound{of: x.bound.of, more: x.bound.more}
	limit := x.baseline
	if limit == 0 {
		limit = b.none()
	}
	var all []point
	for _, h := range append([]preload.MPI{""}, hosts...) {
		list, _ := r.points(x, b, way{h, ours}, func(c column, size int) *figure {
			return r.one(c, way{h, baseline}, size)
		}, at(limit), h)
		for _, p := range list {
			if p.theirs != nil {
				if h != "" {
					p.at += " under " + h.String()
				}
				all = append(all, p)
			}
		}
	}
	if all == nil {
		return cell{"-", unmeasured}
	}
	return judge(all, b)
}

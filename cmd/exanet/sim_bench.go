package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants"
)

// simBench is a benchmark of exanet sim bench.
type simBench struct {
	ranks  int // by default
	pair   bool
	sizes  string // by default; "" if it has none
	most   int    // the largest size, unless 0
	title  string // of the values
	unit   string
	series []string // names of its columns, if there are several
	run    func(c *mpi.Comm, s bench.Sweep) ([]bench.Column, error)
	opts   []mpi.Option
}

// one makes a benchmark of one series.
func one(f func(*mpi.Comm, bench.Sweep) ([]bench.Row, error)) func(*mpi.Comm, bench.Sweep) ([]bench.Column, error) {
	return func(c *mpi.Comm, s bench.Sweep) ([]bench.Column, error) {
		rows, err := f(c, s)
		return []bench.Column{{Rows: rows}}, err
	}
}

func collective(name string) simBench {
	return simBench{ranks: 16, sizes: "4:65536", title: bench.MicrosecondsTitle, unit: "us",
		run: one(func(c *mpi.Comm, s bench.Sweep) ([]bench.Row, error) { return bench.Collective(c, name, s) })}
}

// simBenches are those that the thesis has, by name.
var simBenches = map[string]simBench{
	"latency": {ranks: 2, pair: true, sizes: "0:4194304", title: bench.MicrosecondsTitle, unit: "us",
		run: one(bench.Latency)},
	"bw": {ranks: 2, pair: true, sizes: "1:4194304", title: bench.BandwidthTitle, unit: "MB/s",
		run: one(bench.Bandwidth)},
	"fastrecv": {ranks: 2, pair: true, sizes: "64:8192", title: "MPI_Send (us)", unit: "us",
		run: one(bench.FastReceive)},
	"bcast": collective("bcast"), "reduce": collective("reduce"), "allreduce": collective("allreduce"),
	"scatter": collective("scatter"),
	"barrier": {ranks: 16, title: bench.MicrosecondsTitle, unit: "us",
		run: one(func(c *mpi.Comm, s bench.Sweep) ([]bench.Row, error) {
			row, err := bench.Barrier(c, s)
			return []bench.Row{row}, err
		})},
	"mpigraph": {ranks: 16, sizes: "131072", title: bench.BandwidthTitle, unit: "MB/s",
		series: []string{"send", "receive"}, run: bench.Graph},
	"progress":       progressBench,
	"progress-alone": progressBench.with(mpi.WithoutBackground()),
	"halo":           {ranks: 16, sizes: "16:64", most: 512, title: "Exchange (us)", unit: "us", run: one(bench.Halo)},
}

// progressBench is Progress with the orders of the paper.
var progressBench = simBench{ranks: 2, pair: true, sizes: "30000,100000,400000", title: "Round (us)", unit: "us",
	series: orderNames(), run: func(c *mpi.Comm, s bench.Sweep) ([]bench.Column, error) {
		return bench.Progress(c, s, bench.Orders, bench.ProgressUnit)
	}}

func (b simBench) with(opts ...mpi.Option) simBench {
	b.opts = opts
	return b
}

func orderNames() (names []string) {
	for _, o := range bench.Orders {
		names = append(names, o.Name)
	}
	return names
}

func simBenchNames() []string {
	var names []string
	for n := range simBenches {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func newSimBench() *cobra.Command {
	var f simFlags
	var s sweepFlags
	var chosen string
	cmd := &cobra.Command{
		Use:   "bench NAME [flags]",
		Short: "A benchmark of the thesis on the simulated prototype",
		Long: `Run a benchmark in virtual time, and print its figures, the share of fast receives
and the control messages by kind, of all its messages. NAME is one of

  latency    blocking ping-pong of two ranks, half the round trip
  bw         windows of 64 messages from one rank to another
  fastrecv   MPI_Send to a receive that is known to be posted (thesis ch. 4)
  bcast, reduce, allreduce, scatter
             mean time of a collective; EXANET_COLL forces algorithms
  barrier    mean time of a barrier; its size is the number of ranks
  mpigraph   bandwidth of all ranks at once, at every distance
  progress   how far a message gets while both ranks compute (Small and Yuan, figures 9
             and 10), and progress-alone the same without progress in the background
  halo       exchange of a 27-point stencil; sizes are edges of a rank's cube

Each size is a simulation of its own, and so is each protocol. A fast receive is one
that its sender found advertised when it posted the send.`,
		Example: `  exanet sim bench latency --variant all
  exanet sim bench fastrecv --topology 5-hops --variant readbased,ticket
  exanet sim bench allreduce --ranks 128 --sizes 8:8192 --variant all
  exanet sim bench barrier --ranks 65536 --torus 32x32x16 --iterations 1 --warmup 0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("sim bench takes one benchmark; here is %q too", args[1])
			}
			if len(args) == 0 {
				return usageErrorf("which benchmark? Use one of %s", strings.Join(simBenchNames(), ", "))
			}
			if _, ok := simBenches[args[0]]; !ok {
				return usageErrorf("there is no simulated benchmark %q: use one of %s", args[0],
					strings.Join(simBenchNames(), ", "))
			}
			return nil
		},
		ValidArgs: simBenchNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			b := simBenches[args[0]]
			if f.ranks == 0 {
				f.ranks = rankCount(b.ranks)
			}
			switch {
			case b.sizes == "" && s.sizes != "":
				return usageErrorf("%s has no sizes", args[0])
			case b.sizes == "":
				s.sizes = "0"
			case s.sizes == "":
				s.sizes = b.sizes
			}
			if b.pair && f.ranks != 2 {
				return usageErrorf("%s is between two ranks, not %d", args[0], f.ranks)
			}
			names, err := simVariants(chosen)
			if err != nil {
				return err
			}
			m, p, err := f.machine()
			if err != nil {
				return err
			}
			switch {
			case s.iterations < 1:
				return usageErrorf("--iterations %d: use 1 or more", s.iterations)
			case s.warmup < 0:
				return usageErrorf("--warmup %d: use 0 or more", s.warmup)
			}
			s.ranks, s.repeat = int(f.ranks), 1
			sweep, err := s.sweep(cmd, b.ranks/16+1)
			if err != nil {
				return err
			}
			if b.most > 0 && slices.Max(sweep.Sizes) > b.most {
				return usageErrorf("--sizes %s: those of %s go up to %d", s.sizes, args[0], b.most)
			}
			sweep.Settle = 0
			r := &simSeries{bench: b, name: args[0], variants: names, sweep: sweep}
			if err := r.measure(cmd, m, p, f.seed); err != nil {
				return err
			}
			if s.json {
				return writeJSON(cmd.OutOrStdout(), r.figures(&f))
			}
			return r.write(cmd, "exanet sim bench "+args[0]+", "+f.where())
		},
	}
	f.add(cmd)
	x := cmd.Flags()
	x.VarP(&f.ranks, "ranks", "n", "number of ranks (default 2 or 16)")
	x.StringVar(&s.sizes, "sizes", "", "message sizes in bytes: from:to for powers of two, or a comma list (default: "+
		"those of the benchmark)")
	x.IntVar(&s.iterations, "iterations", 10, "timed iterations of each size")
	x.IntVar(&s.warmup, "warmup", 2, "untimed iterations before them")
	x.BoolVar(&s.json, "json", false, "print JSON")
	x.StringVar(&chosen, "variant", "", "protocols to simulate side by side: all, or a comma list of "+
		strings.Join(mpi.Variants(), ", ")+" (default "+mpi.DefaultVariant+", or $EXANET_VARIANT)")
	return cmd
}

// simSeries is what a benchmark gives for several protocols.
type simSeries struct {
	bench    simBench
	name     string
	variants []string
	sweep    bench.Sweep

	columns [][]bench.Column    // by series and protocol
	fast    []bench.Column      // by protocol: share of fast receives
	totals  []variants.Counters // by protocol
}

// point is one simulation: a protocol and a size.
type point struct {
	columns []bench.Column
	result  *virtual.Result
	err     error
}

// manyRanks is the number of ranks above which one simulation at a time is enough for
// the memory of a machine.
const manyRanks = 4096

// measure makes all simulations, as many at a time as there are cores.
func (r *simSeries) measure(cmd *cobra.Command, m sim.Machine, p sim.Placement, seed uint64) error {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a simulation leaves little behind
	points := make([]point, len(r.variants)*len(r.sweep.Sizes))
	progress := newProgress(cmd, len(points), r.name)
	var mu sync.Mutex
	next := 0
	worker := func() {
		for {
			mu.Lock()
			i := next
			next++
			mu.Unlock()
			if i >= len(points) {
				return
			}
			points[i] = r.simulate(m, p, r.variants[i/len(r.sweep.Sizes)], r.sweep.Sizes[i%len(r.sweep.Sizes)], seed)
			progress.add(1)
		}
	}
	workers := min(runtime.GOMAXPROCS(0), len(points))
	if len(p) > manyRanks {
		workers = 1
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(worker)
	}
	wg.Wait()
	progress.end()
	return r.collect(points)
}

func (r *simSeries) simulate(m sim.Machine, p sim.Placement, variant string, size int, seed uint64) (x point) {
	sweep := r.sweep
	sweep.Sizes = []int{size}
	x.result, x.err = simulate(m, p, variant, seed, r.bench.opts, func(c *mpi.Comm) error {
		columns, err := r.bench.run(c, sweep)
		if c.Rank() == 0 {
			x.columns = columns
		}
		return err
	})
	if x.err != nil {
		x.err = fmt.Errorf("protocol %s, %d bytes: %w", variant, size, x.err)
	}
	return x
}

// collect puts the points in order.
func (r *simSeries) collect(points []point) error {
	r.columns = make([][]bench.Column, max(len(r.bench.series), 1))
	for v, name := range r.variants {
		for k := range r.columns {
			r.columns[k] = append(r.columns[k], bench.Column{Name: name})
		}
		r.fast = append(r.fast, bench.Column{Name: name})
		r.totals = append(r.totals, variants.Counters{})
		for i := range r.sweep.Sizes {
			x := points[v*len(r.sweep.Sizes)+i]
			if x.err != nil {
				return x.err
			}
			for k := range r.columns {
				r.columns[k][v].Rows = append(r.columns[k][v].Rows, x.columns[k].Rows[0])
			}
			r.fast[v].Rows = append(r.fast[v].Rows, bench.Row{Size: x.columns[0].Rows[0].Size,
				Value: 100 * x.result.FastShare()})
			r.totals[v].Add(&x.result.Counters)
		}
	}
	return nil
}

func (r *simSeries) write(cmd *cobra.Command, title string) error {
	w := cmd.OutOrStdout()
	for k, columns := range r.columns {
		values := r.bench.title
		if len(r.bench.series) > 0 {
			values = r.bench.series[k] + ", " + values
		}
		var err error
		if len(columns) == 1 {
			err = bench.WriteOSU(w, title+", "+columns[0].Name, values, columns[0].Rows)
		} else if err = bench.WriteColumns(w, title, values, columns); err == nil {
			err = bench.WriteRatios(w, variantBase, columns)
		}
		if err != nil {
			return err
		}
	}
	if err := bench.WriteColumns(w, "fast receives, in 100", title, r.fast); err != nil {
		return err
	}
	totals := make([]*variants.Counters, len(r.totals))
	for i := range totals {
		totals[i] = &r.totals[i]
	}
	return writeControl(w, r.variants, totals)
}

// simFigures is what --json prints.
type simFigures struct {
	Benchmark string       `json:"benchmark"`
	Unit      string       `json:"unit"`
	Ranks     int          `json:"ranks"`
	Topology  string       `json:"topology"`
	Torus     string       `json:"torus"`
	Series    []simColumns `json:"series"`
}

// simColumns is a series of a protocol.
type simColumns struct {
	Name    string            `json:"name,omitempty"`
	Variant string            `json:"variant"`
	Rows    []bench.Row       `json:"rows"`
	Fast    []bench.Row       `json:"fast_receives_percent"`
	Control map[string]uint64 `json:"control"`
}

func (r *simSeries) figures(f *simFlags) simFigures {
	out := simFigures{Benchmark: r.name, Unit: r.bench.unit, Ranks: int(f.ranks), Topology: f.topology, Torus: f.torus}
	for k, columns := range r.columns {
		for v, c := range columns {
			x := simColumns{Variant: c.Name, Rows: c.Rows, Fast: r.fast[v].Rows, Control: make(map[string]uint64)}
			if len(r.bench.series) > 0 {
				x.Name = r.bench.series[k]
			}
			for _, kind := range kindsSent([]*variants.Counters{&r.totals[v]}) {
				x.Control[kind.String()] = r.totals[v].Control[kind]
			}
			out.Series = append(out.Series, x)
		}
	}
	return out
}

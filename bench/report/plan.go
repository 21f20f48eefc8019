package report

import (
	"embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/launch/preload"
)

// job is a command that is run in several ways.
type job struct {
	name      string // in the results
	title     string // of an application, for all numbers of ranks
	ranks     int
	spread    int    // over so many hosts, as many ranks on each; 0: they are all here
	program   string // its path, with {MPI} in it, or one of those that make bench-programs builds
	installed bool   // the program is in PATH
	args      []string
	inGo      []string // of the command line, which has the benchmark in Go
	hosts     []preload.MPI
	baseline  bool          // it is run with the baseline, too
	limit     time.Duration // of one run
	least     int           // rounds at least, for jobs that are short and vary
	near      bool          // the figures depend on where the processors are, see sideBySide
	timed     bool          // the time of the run is its figure
	tables    int           // a run that has printed so many counts, even if it does not end; 0: it must end

	input string            // a file of inputs that it finds where it runs
	fill  *strings.Replacer // fills that in

	believe func(output string) bool // whether a timed run has done what it should; nil: if it ends with 0
}

// section is what is measured together.
type section struct {
	name, title string
	jobs        func(c *Config) []*job
}

// The collectives, in the order of the page. With more ranks than cores MPICH is slow in those
// for which every rank has to run.
var (
	collectives = []string{"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "scan", "exscan",
		"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv"}
	crowded = []string{"barrier", "reduce", "allreduce", "allgather", "alltoall", "bcast", "scatter"}
)

// The calls that enter Go, as bench/osu names them: those that move data, and all.
var (
	moving = []string{"Recv of any source", "Recv of any tag", "Probe", "Mprobe", "Iprobe of any source", "Startall",
		"Ibcast", "Iallreduce"}
	forms = append([]string{"Ibarrier"}, moving...)
)

var sections = []section{
	{"latency", "Latency", func(c *Config) []*job {
		return []*job{c.near("latency", "latency -c -t 150"+choose(c, "", " -s 8"))}
	}},
	{"bandwidth", "Bandwidth", func(c *Config) []*job {
		return []*job{c.near("bw", "bw -c -t 100"+choose(c, "", " -s 8"))}
	}},
	{"collectives", "Collectives of 2 ranks", func(c *Config) []*job {
		return []*job{c.near("2 ranks", strings.Join(collectives, ",")+" -c -m 8:1048576 -t 20"+
			choose(c, "", " -s 32"))}
	}},
	{"crowd", "More ranks than cores", func(c *Config) (jobs []*job) {
		for _, ranks := range []int{4, 8} {
			args := strings.Join(crowded, ",") + ",gather -m 8:65536 -t 100 -x 2 -s " +
				strconv.Itoa(choose(c, ranks/2, 96))
			j := c.osu(fmt.Sprintf("%d ranks", ranks), ranks, args)
			j.limit = 5 * time.Minute
			jobs = append(jobs, j)
		}
		return jobs
	}},
	{"calls", "Calls that enter Go", func(c *Config) []*job {
		return []*job{
			c.near("short calls", "calls -m 8:8 -t "+choose(c, "100", "50")),
			c.near("long calls", "calls -m 16384:1048576 -s "+choose(c, "8", "64")+" -t 50"),
		}
	}},
	{"communicators", "Making communicators", func(c *Config) []*job {
		return []*job{c.osu("communicators, 2 ranks", 2, "communicators"),
			c.osu("communicators, 4 ranks", 4, "communicators -t 100")}
	}},
	{"applications", "Applications", applications},
	{"idle", "A rank that waits", func(c *Config) []*job {
		return []*job{c.osu("idle", 2, "idle -t 500")}
	}},
	{"overlap", "Communication under computation", func(c *Config) []*job {
		return []*job{c.osu("overlap", 2, "overlap -c -t 2000")}
	}},
	{"start", "Start", func(c *Config) []*job {
		j := c.osu("initfini", 2, "initfini")
		j.least = choose(c, 9, 3)
		return []*job{j}
	}},
}

// osu is a job of a benchmark in C.
func (c *Config) osu(name string, ranks int, args string) *job {
	if c.Middle {
		args += " -M"
	}
	return &job{name: name, ranks: ranks, program: "osu", args: strings.Fields(args), hosts: hosts,
		limit: choose(c, 2*time.Minute, time.Minute)}
}

// near is osu for two ranks whose figures depend on where the processors are. Those are what
// the baseline is run for as well.
func (c *Config) near(name, args string) *job {
	j := c.osu(name, 2, args)
	j.near, j.baseline = true, true
	return j
}

// inputs are those of the applications. {P} and {Q} in them are the rows and columns of the
// grid of processes.
//
//go:embed inputs
var inputs embed.FS

// applications are programs of others, but for one in Go and one of our tests: what they take
// from start to end is compared. Each is a job of 2 ranks and, in the full form, one of 4.
func applications(c *Config) (jobs []*job) {
	type grid struct {
		ranks    int
		p, q, cg string
	}
	two, four := grid{2, "1", "2", "48"}, grid{4, "2", "2", "48x24x48"}
	for _, grid := range choose(c, []grid{two, four}, []grid{two}) {
		add := func(name string, j job) {
			j.name, j.title, j.ranks = fmt.Sprintf("%s, %d ranks", name, grid.ranks), name, grid.ranks
			j.fill = strings.NewReplacer("{P}", grid.p, "{Q}", grid.q)
			j.baseline, j.timed, j.limit = true, true, choose(c, 2*time.Minute, 20*time.Second)
			jobs = append(jobs, &j)
		}
		add("conjugate gradients (Go)", job{program: "cg", hosts: []preload.MPI{""}, args: []string{"-grid", grid.cg}})
		add("kernels", job{program: "kernels", hosts: hosts})
		add("LAMMPS", job{program: "lmp", installed: true, args: []string{"-in", "metal.in", "-log", "none"},
			hosts: []preload.MPI{preload.OpenMPI}, input: "metal.in"})
		add("HPC Challenge", job{program: "hpcc", installed: true, hosts: []preload.MPI{preload.OpenMPI},
			input: "hpccinf.txt"})
		found, _ := filepath.Glob("/usr/lib/*/scalapack") // the pattern is well formed
		for _, test := range []struct{ name, input string }{{"xdllt", "LLT.dat"}, {"xdqr", "QR.dat"},
			{"xdlu", "LU.dat"}} {
			j := job{program: test.name, installed: true, hosts: hosts, input: test.input, believe: passed}
			if found != nil {
				j.program = filepath.Join(found[0], "{MPI}-tests", test.name)
			}
			add("ScaLAPACK "+test.name, j)
		}
	}
	return jobs
}

// passed reports whether a test of ScaLAPACK says that all its checks have passed.
func passed(output string) bool {
	return strings.Contains(output, "    0 tests completed and failed residual checks.")
}

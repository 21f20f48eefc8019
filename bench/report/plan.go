package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/bench/floor"
)

// job is a command that is run in several ways.
type job struct {
	name    string // in the results
	ranks   int
	program string   // "": the benchmarks in C
	args    []string // of the program, or of exanet
	ways    []string
	dir     string
	env     []string      // NAME=VALUE
	limit   time.Duration // of one run
	least   int           // rounds at least, for jobs that are short and vary
	beside  string        // runs of jobs with the same, under one MPI, are compared, and depend on where the processors are; "": those of this do not
	across  bool          // they are compared under all MPIs

	parse func(output string) ([]compare.Printed, error) // nil: as the OSU benchmarks print
}

// section is what is measured together.
type section struct {
	name, title string
	jobs        func(c *Config) []*job
}

// The collectives, in the order of the page. Those that are measured with more ranks
// than cores have bounds of their own.
var (
	collectives = []string{"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "scan", "exscan",
		"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv"}
	crowded       = []string{"barrier", "reduce", "allreduce", "allgather", "alltoall"}
	crowdedRooted = []string{"bcast", "scatter"}
)

// The forms of calls, as bench/osu names them.
var forms = []string{"Wait", "Waitany", "Waitsome", "Test", "Testall", "Startall", "Sendrecv", "Sendrecv_replace",
	"Send of data that are used", "Sendrecv of data that are used", "Ssend", "Recv of any source", "Recv of any tag", "vector type", "Probe", "Mprobe", "Iprobe of any source", "Ibarrier", "Ibcast", "Iallreduce"}

var sections = []section{
	{"floor", "What the machine can do", func(c *Config) []*job {
		return []*job{
			floorJob(),
			{name: "copies", args: words("bench floor --repeat 1 --sizes " + c.sizes("1:4194304", "1,8,64,512,4096,32768,262144,2097152")), ways: []string{inGo}, limit: 2 * time.Minute},
		}
	}},
	{"latency", "Latency", func(c *Config) []*job {
		return []*job{c.near("latency", "latency -c -t 200"+c.every(8))}
	}},
	{"bandwidth", "Bandwidth", func(c *Config) []*job {
		return []*job{c.near("bw", "bw -c -t 300"+c.every(8)), c.near("bibw", "bibw -c -t 300"+c.every(8))}
	}},
	{"rate", "Message rate", func(c *Config) []*job {
		j := c.near("mbw_mr", "mbw_mr -m 8:8 -i 2000 -x 200 -t 1000")
		j.across = true
		return []*job{j}
	}},
	{"calls", "Other calls", func(c *Config) []*job {
		return []*job{c.near("calls", "calls -m 8:65536 -s 8192 -t 200")}
	}},
	{"collectives", "Collectives of 2 ranks", func(c *Config) []*job {
		return []*job{c.near("2 ranks", strings.Join(collectives, ",")+" -c -m 8:1048576 -t 30"+c.every(16))}
	}},
	{"crowd", "More ranks than cores", func(c *Config) (jobs []*job) {
		names := strings.Join(append(crowded, crowdedRooted...), ",")
		for _, ranks := range []int{4, 8} {
			factor := " -s " + strconv.Itoa(ranks/2)
			if c.Quick {
				factor = " -s 64"
			}
			if ranks == 8 && c.Quick {
				names = "barrier,allreduce,bcast"
			}
			j := c.osu(fmt.Sprintf("%d ranks", ranks), ranks, names+" -m 8:65536 -t 20 -x 2"+factor)
			j.limit = 5 * time.Minute
			jobs = append(jobs, j, &job{
				name: crowdFloor(ranks), args: words(fmt.Sprintf("bench floor --repeat 1 --ranks %d --sizes 8,1024,32768,65536", ranks)),
				ways: []string{inGo}, limit: time.Minute,
			})
		}
		return jobs
	}},
	{"cg", "Conjugate gradients", func(c *Config) []*job {
		program, ways := filepath.Join(c.Programs, "cg"), []string{inGo}
		// The same grid altogether.
		return []*job{
			{name: "cg, 2 ranks", args: []string{"run", "-n", "2", program, "-grid", "48"}, ways: ways, limit: 2 * time.Minute, parse: parseCG},
			{name: "cg, 4 ranks", args: []string{"run", "-n", "4", program, "-grid", "48x24x48"}, ways: ways, limit: 2 * time.Minute, parse: parseCG},
		}
	}},
	{"scalapack", "ScaLAPACK's xdlu", func(c *Config) []*job {
		found, _ := filepath.Glob("/usr/lib/*/scalapack/mpich-tests/xdlu") // the pattern is well formed
		if found == nil {
			return nil
		}
		limit := 5 * time.Minute
		if c.Quick {
			limit = 20 * time.Second
		}
		return []*job{{name: "xdlu", ranks: 4, program: found[0], ways: []string{mpichOurs, mpichAlone}, dir: filepath.Dir(found[0]), env: []string{"OPENBLAS_NUM_THREADS=1"}, limit: limit, parse: parseScalapack}}
	}},
	{"idle", "A rank that waits", func(c *Config) []*job {
		if c.Quick {
			return []*job{c.osu("idle", 2, "idle -t 400")}
		}
		return []*job{c.osu("idle", 2, "idle -t 2000")}
	}},
	{"wake", "Waking a rank", func(c *Config) []*job {
		wakes, machine := c.near("wake", "wake"), floorJob()
		machine.beside = "wake"
		wakes.across, machine.across = true, true
		return []*job{wakes, machine}
	}},
	{"overlap", "Communication under computation", func(c *Config) []*job {
		return []*job{c.osu("overlap", 2, "overlap -c -t 4000"), c.osu("computing", 2, "computing -c -t 4000")}
	}},
	{"unexpected", "Unexpected messages", func(c *Config) []*job {
		return []*job{c.osu("unexpected", 2, "unexpected -m 2500:"+c.sizes("20000", "10000"))}
	}},
	{"start", "Start and end", func(c *Config) []*job {
		j := c.osu("initfini", 2, "initfini")
		j.least = 9
		return []*job{j}
	}},
	{"scale", "Many ranks", func(c *Config) (jobs []*job) {
		for _, ranks := range many(c.Quick) {
			// MPICH alone does not come to an end with so many.
			j := c.osu(fmt.Sprintf("%d ranks", ranks), ranks, "memory,barrier,allreduce -m 8:8 -x 5 -t 500")
			j.ways = []string{mpichOurs, openmpiAlone, openmpiOurs}
			j.limit = 3 * time.Minute
			jobs = append(jobs, j)
		}
		return jobs
	}},
	{"refused", "Cross-memory attach refused", func(c *Config) []*job {
		var jobs []*job
		for _, name := range []string{"latency", "bw"} {
			for _, flag := range []string{"", " -a"} {
				j := c.osu(strings.TrimSpace(name+flag), 2, name+" -t 200"+flag+c.every(8))
				j.ways, j.beside = []string{mpichOurs, openmpiOurs}, name
				jobs = append(jobs, j)
			}
		}
		return append(jobs, floorJob())
	}},
	{"go", "Programs in Go", func(c *Config) []*job {
		machine := floorJob()
		machine.beside = "go"
		return []*job{
			{name: "go latency", beside: "go", args: words("bench latency --json --sizes " + c.sizes("1:4194304", "8,1024,65536,1048576")), ways: []string{inGo}, limit: time.Minute, parse: parseGo},
			machine,
			{name: "go bw", args: words("bench bw --json --sizes " + c.sizes("1:4194304", "8,1024,65536,1048576")), ways: []string{inGo}, limit: time.Minute, parse: parseGo},
		}
	}},
}

// crowdFloor is the name of the job that measures so many processes without any MPI.
func crowdFloor(ranks int) string { return fmt.Sprintf("%d processes", ranks) }

// floorJob measures the machine, beside what is held against it.
func floorJob() *job {
	return &job{name: "floor", args: words("bench floor --repeat 1 --json"), ways: []string{inGo}, limit: time.Minute, parse: parseFloor}
}

// many is how many ranks there are where there are many.
func many(quick bool) []int {
	if quick {
		return []int{16, 64}
	}
	return []int{16, 64, 256}
}

func words(s string) []string { return strings.Fields(s) }

// sizes chooses by the form.
func (c *Config) sizes(full, quick string) string {
	if c.Quick {
		return quick
	}
	return full
}

// every is the option for fewer sizes in the quick form.
func (c *Config) every(factor int) string {
	if c.Quick {
		return " -s " + strconv.Itoa(factor)
	}
	return ""
}

// osu is a job of a benchmark in C, in all four ways.
func (c *Config) osu(name string, ranks int, args string) *job {
	if c.Middle {
		args += " -M"
	}
	limit := 2 * time.Minute
	if c.Quick {
		limit = 30 * time.Second
	}
	return &job{name: name, ranks: ranks, args: words(args), ways: fourWays, limit: limit}
}

// near is osu for two ranks whose figures depend on where the processors are.
func (c *Config) near(name, args string) *job {
	j := c.osu(name, 2, args)
	j.beside = name
	return j
}

var solved = regexp.MustCompile(`(?m)^iterations +(\d+) in ([0-9.]+) s$`)

// parseCG reads the output of examples/cg.
func parseCG(output string) ([]compare.Printed, error) {
	m := solved.FindStringSubmatch(output)
	if m == nil {
		return nil, fmt.Errorf("it does not say how long the iterations took")
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return nil, err
	}
	s, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return nil, err
	}
	return []compare.Printed{{Title: "cg", Columns: []string{"Seconds", "Iterations"}, Rows: []compare.PrintedRow{{Values: []float64{s, n}}}}}, nil
}

// parseScalapack believes a test only if it says that all its checks have passed; the time is that of the run.
func parseScalapack(output string) ([]compare.Printed, error) {
	if !strings.Contains(output, "    0 tests completed and failed residual checks.") {
		return nil, fmt.Errorf("its checks have not passed")
	}
	return nil, nil
}

// parseFloor reads what bench floor prints as JSON.
func parseFloor(output string) ([]compare.Printed, error) {
	var f struct{ Lines []floor.Line }
	if err := json.Unmarshal([]byte(output), &f); err != nil {
		return nil, err
	}
	var list []compare.Printed
	for _, l := range f.Lines {
		if len(l.Repeats) > 0 {
			list = append(list, compare.Printed{Title: l.Name, Columns: []string{l.Unit}, Rows: []compare.PrintedRow{{Values: []float64{l.Value}}}})
		}
	}
	return list, nil
}

// parseGo reads what bench latency and bw print as JSON.
func parseGo(output string) ([]compare.Printed, error) {
	var f struct {
		Benchmark, Unit string
		Rows            []bench.Row
	}
	if err := json.Unmarshal([]byte(output), &f); err != nil {
		return nil, err
	}
	p := compare.Printed{Title: f.Benchmark, Columns: []string{f.Unit, "Allocations"}}
	for _, r := range f.Rows {
		p.Rows = append(p.Rows, compare.PrintedRow{Size: r.Size, Values: []float64{r.Value, r.Allocations}})
	}
	return []compare.Printed{p}, nil
}

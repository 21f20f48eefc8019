package report

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/bench/floor"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// HostsWanted is how many hosts a report between hosts takes. Messages go between the first two.
const HostsWanted = 3

// sectionsBetween are what is measured between hosts. Their names are among those of sections.
var sectionsBetween = []section{
	{"latency", "Latency between hosts", func(c *Config) []*job {
		return []*job{c.pair("latency", "latency")}
	}},
	{"bandwidth", "Bandwidth between hosts", func(c *Config) []*job {
		return []*job{c.pair("bw", "bw")}
	}},
	{"collectives", "Collectives of 6 ranks on 3 hosts", func(c *Config) []*job {
		j := c.between("6 ranks", 3, 2, strings.Join(collectivesBetween, ",")+" -m 8:8 -t 100")
		// Ranks of MPICH 4.0 often hang in MPI_Finalize here, without the library, too.
		j.tables, j.limit = len(collectivesBetween), choose(c, time.Minute, 30*time.Second)
		return []*job{j}
	}},
	{"idle", "A rank that waits for one of another host", func(c *Config) []*job {
		return []*job{c.between("idle", 2, 1, "idle -t 500")}
	}},
}

var collectivesBetween = []string{"barrier", "allreduce"}

// between is a job of a benchmark in C on the first so many hosts.
func (c *Config) between(name string, hosts, each int, args string) *job {
	j := c.osu(name, hosts*each, args)
	j.spread, j.baseline = hosts, true
	return j
}

// pair is between for two ranks of a benchmark that there is in C and in Go. Its figures depend on where the processors
// are if the hosts are namespaces. These move within seconds, so runs are short, and there are more of them.
func (c *Config) pair(name, benchmark string) *job {
	j := c.between(name, 2, 1, benchmark+" -c -m 8:4194304 -t 50"+choose(c, "", " -s 8"))
	j.hosts = append(j.hosts, "")
	j.inGo = []string{"bench", benchmark, "--iterations", "200", "--sizes",
		choose(c, "8:4194304", "8,64,512,4096,32768,262144,2097152")}
	j.near, j.least = true, choose(c, 15, 5)
	return j
}

// rowsBetweenHosts are the table's for such sections.
func rowsBetweenHosts() []row {
	return []row{
		{section: "latency", what: "latency, 2 hosts, 8 B to 4 MiB", text: "≤1.1, mean ≤0.8",
			columns: []column{latencyColumn}, better: true, limit: at(1.1), mean: under(0.8)},
		{section: "latency", what: "latency, 2 hosts, 64 KiB to 1 MiB", text: "≤0.6",
			columns: []column{latencyColumn}, better: true, least: 64 << 10, most: 1 << 20, limit: at(0.6)},
		{section: "bandwidth", what: "bandwidth, window of 64, 2 hosts, 8 B to 4 MiB", text: "≥1/1.1, mean ≥1/0.8",
			columns: []column{bandwidthColumn}, bound: bound{more: true}, better: true, limit: at(1 / 1.1),
			mean: under(1 / 0.8)},
		{section: "latency", what: "TCP alone, latency, 2 hosts, 8 B to 4 MiB", text: "-",
			columns: []column{latencyColumn}, better: true, tcp: true},
		{section: "latency", what: "TCP alone, latency, 2 hosts, 64 KiB to 1 MiB", text: "-",
			columns: []column{latencyColumn}, better: true, tcp: true, least: 64 << 10, most: 1 << 20},
		{section: "bandwidth", what: "TCP alone, bandwidth, window of 64, 2 hosts, 8 B to 4 MiB", text: "-",
			columns: []column{bandwidthColumn}, bound: bound{more: true}, better: true, tcp: true},
		{section: "latency", what: "latency of programs in Go, 2 hosts, 8 B to 4 MiB", text: "≤1.1 of that MPI",
			columns: []column{latencyColumn}, inGo: true, limit: at(1.1)},
		{section: "bandwidth", what: "bandwidth of programs in Go, window of 64, 2 hosts, 8 B to 4 MiB",
			text: "≥1/1.1 of that MPI", columns: []column{bandwidthColumn}, inGo: true, bound: bound{more: true},
			limit: at(1 / 1.1)},
		{section: "collectives", what: "6 ranks on 3 hosts, 8 B: " + strings.Join(collectivesBetween, ", "),
			text: "≤0.5 of Open MPI", columns: tables("6 ranks", "", "Avg Latency(us)", collectivesBetween...),
			than: preload.OpenMPI, limit: at(0.5)},
		{section: "idle", what: "processor time of a rank that is blocked", text: "≤1 % of a core",
			columns: idleColumns, bound: bound{of: absolute}, limit: at(1)},
	}
}

// rows are those of the table of these results.
func (r *results) rows() []row {
	if r.Network != "" {
		return rowsBetweenHosts()
	}
	return rows()
}

// heading is what a page begins with that is not there yet.
func (r *results) heading() string {
	if r.Network == "" {
		return ""
	}
	return headingBetween
}

const headingBetween = `# Figures between hosts

As [performance.md](performance.md), but with ranks on different hosts. [hosts.md](hosts.md) says what these must have.

    exanet bench report --hosts node1,node2,node3 --out /tmp/performance-hosts

measures between yours. Without a cluster, make bench-hosts (as root) makes three hosts out of namespaces of this
machine, measures between them and writes this page. make bench-hosts CONGESTION=cubic gives them that congestion
control of TCP, where the machine allows it.
`

const howBetween = `Runs of two ranks are short, and made more often than others.

MPICH and Open MPI are told to use TCP, too: UCX_TLS=tcp,self,sm, OMPI_MCA_pml=ob1 and
OMPI_MCA_btl=vader,tcp,self, unless the environment has these variables. Messages of two ranks are held against the
better MPI alone, collectives against Open MPI alone. Programs in Go (exanet bench) have no MPI under them: they are
held against the program in C with each MPI alone. TCP alone is what two processes without any MPI make of a
connection by plain calls (exanet bench latency --tcp). Runs of the MPIs that have printed all figures count even if
they do not end: ranks of MPICH 4.0 often hang in MPI_Finalize, without the library, too
([host-faults.md](host-faults.md)).

The congestion control decides how long messages of the other MPIs fare. Where it is bbr, connections of the library
have reno ([hosts.md](hosts.md)).
`

// hostAnswers is how long a remote shell has for a short command.
const hostAnswers = 10 * time.Second

// tryHosts calls each host, sees whether it has what the jobs need, and describes the network.
func (c *Config) tryHosts(ctx context.Context) (network string, err error) {
	if c.Shell, err = exec.LookPath(c.Shell); err != nil {
		return "", fmt.Errorf("the remote shell: %w", err)
	}
	files, err := c.needed()
	if err != nil {
		return "", err
	}
	command := "cat /proc/sys/kernel/random/boot_id /proc/sys/net/ipv4/tcp_congestion_control && " +
		"sed -n s/^Cpus_allowed_list://p /proc/self/status && ls"
	for _, f := range files {
		command += " " + launch.Quoted(f)
	}
	var boots, controls, cores []string
	for _, h := range c.Hosts {
		shell := fmt.Sprintf("host %s: the remote shell (%s)", h, c.Shell)
		o, err := compare.Once(ctx, compare.Way{Path: c.Shell, Words: []string{c.Shell, h, command}, Env: c.Env,
			Limit: hostAnswers})
		lines := strings.Fields(o.Output)
		switch {
		case err != nil:
			return "", err
		case o.Late:
			return "", fmt.Errorf("%s has not answered for %v: see whether it lets you in without a password", shell,
				hostAnswers)
		case o.Code == 255:
			return "", fmt.Errorf("%s ends with 255: see whether it lets you in without a password: %s", shell,
				lastLine(o.All()))
		case o.Code != 0:
			return "", fmt.Errorf("host %s: it needs the benchmarks and the library under the same paths as here: %s",
				h, lastLine(o.Said))
		case len(lines) < 3:
			return "", fmt.Errorf("%s has run nothing there: see whether it runs commands", shell)
		}
		boots, controls, cores = append(boots, lines[0]), append(controls, lines[1]), append(cores, lines[2])
	}
	if c.trip == nil {
		c.trip = tripBetween(boots, cores)
	}
	return describe(c.Hosts, boots, controls, cores), nil
}

// tripBetween looks where the processors of the first two hosts are, if these are namespaces of one machine.
func tripBetween(boots, cores []string) func() (float64, error) {
	first := func(list string) int {
		core, _ := strconv.Atoi(strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '-' })[0])
		return core
	}
	a, b := first(cores[0]), first(cores[1])
	if boots[0] != boots[1] || a == b {
		return func() (float64, error) { return 0, errors.ErrUnsupported }
	}
	return func() (float64, error) { return floor.TripBetween(a, b) }
}

// needed are the files that each host must have.
func (c *Config) needed() (files []string, err error) {
	files = append(files, c.Exanet)
	if c.Baseline != "" {
		files = append(files, filepath.Join(c.Baseline, "exanet"))
	}
	for _, h := range c.hosts() {
		program := c.built("osu", h)
		files = append(files, program)
		dirs := [][]string{c.Dirs}
		if c.Baseline != "" {
			dirs = append(dirs, []string{c.Baseline})
		}
		for _, d := range dirs {
			p, err := preload.Plan(preload.Config{Words: []string{program}, Env: preload.Without(c.Env), MPI: h,
				Dirs: d})
			if err != nil {
				return nil, err
			}
			files = append(files, p.Library, strings.TrimSuffix(p.Library, ".so")+"-go.so")
		}
	}
	return files, nil
}

// describe says what there is between hosts, of which each has booted, and has a congestion control and cores.
func describe(hosts, boots, controls, cores []string) string {
	text := fmt.Sprintf("%d hosts", len(hosts))
	if len(slices.Compact(slices.Sorted(slices.Values(boots)))) == 1 {
		text = fmt.Sprintf("%d namespaces of that machine, on its cores %s", len(hosts), strings.Join(cores, " and "))
	}
	if len(slices.Compact(slices.Sorted(slices.Values(controls)))) == 1 {
		return text + ", whose congestion control is " + controls[0]
	}
	for i, h := range hosts {
		controls[i] += " on " + h
	}
	return text + ", whose congestion controls are " + strings.Join(controls, ", ")
}

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/launch/preload"
)

const network = "3 hosts of a test"

// goodBetween keeps every bound between hosts.
func goodBetween(c column, _, _ int) float64 {
	return map[string]float64{"latency": 0.5, "bw": 2, "6 ranks": 0.4, "idle": 0.0005}[c.Job]
}

func madeBetween(of func(c column, size, round int) float64) *results {
	r := madeOf(rowsBetweenHosts(), of)
	r.Network = network
	return r
}

// Each of these makes one row, and no other, be not kept. What MPICH alone takes counts, but not in collectives.
func TestBoundsBetweenHosts(t *testing.T) {
	for what, s := range madeBetween(goodBetween).states() {
		assert.Equal(t, kept, s, what)
	}
	const (
		latency   = "latency, 2 hosts, 8 B to 4 MiB"
		long      = "latency, 2 hosts, 64 KiB to 1 MiB"
		bandwidth = "bandwidth, window of 64, 2 hosts, 8 B to 4 MiB"
		inGo      = " of programs in Go, "
		six       = "6 ranks on 3 hosts, 8 B: barrier, allreduce"
		idle      = "processor time of a rank that is blocked"
	)
	for name, x := range map[string]struct {
		row   string
		job   string
		value func(c column, size int) float64
		mpich float64 // what that has alone, if it is not 1000
	}{
		"one size": {latency, "latency", func(_ column, size int) float64 {
			return pick(size == 8, 1.15, 0.5)
		}, 0},
		"the mean": {latency, "latency", func(_ column, size int) float64 {
			return pick(size < 1<<20, 1.05, 0.5)
		}, 0},
		"long": {long, "latency", func(_ column, size int) float64 {
			return pick(size == 1<<20, 0.7, 0.5)
		}, 0},
		"bandwidth": {bandwidth, "bw", func(_ column, size int) float64 {
			return pick(size == 8, 0.9, 2)
		}, 0},
		"its mean":     {bandwidth, "bw", func(column, int) float64 { return 1.2 }, 0},
		"the better's": {bandwidth, "bw", func(column, int) float64 { return 2 }, 3000},
		"a collective": {six, "6 ranks", func(c column, _ int) float64 {
			return pick(c.Table == "barrier", 0.6, 0.4)
		}, 0},
		"latency in Go": {"latency" + inGo + "2 hosts, 8 B to 4 MiB", "latency", func(_ column, size int) float64 {
			return pick(size == 8, 1.15, 0.5)
		}, 0},
		"bandwidth in Go": {"bandwidth" + inGo + "window of 64, 2 hosts, 8 B to 4 MiB", "bw",
			func(column, int) float64 { return 0.9 }, 0},
		"busy": {idle, "idle", func(column, int) float64 { return 0.002 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := madeBetween(func(c column, size, round int) float64 {
				if c.Job == x.job {
					return x.value(c, size)
				}
				return goodBetween(c, size, round)
			})
			for i := range r.figures {
				f := &r.figures[i]
				if w := (way{"", ours}).String(); f.Job == x.job && strings.HasPrefix(f.Way, "Exanet") &&
					(f.Way == w) != strings.Contains(x.row, inGo) {
					f.Repeats = slices.Repeat([]float64{max(1000, x.mpich) * goodBetween(f.column, 0, 0)}, 5)
				}
				if x.mpich > 0 && f.Job == x.job && f.Way == (way{preload.MPICH, alone}).String() {
					f.Repeats = slices.Repeat([]float64{x.mpich}, 5)
				}
			}
			for what, s := range r.states() {
				assert.Equal(t, map[bool]state{true: broken, false: kept}[what == x.row], s, what)
			}
		})
	}
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}

// A figure of the same benchmark is in the same table, whatever it is of.
func TestTableNames(t *testing.T) {
	for _, title := range []string{"latency", "exanet bench latency, 2 ranks",
		"exanet bench latency, 2 ranks, TCP alone"} {
		assert.Equal(t, "latency", tableName(title))
	}
}

// What TCP alone takes is held against the better MPI, and is nothing to be kept.
func TestTCPAlone(t *testing.T) {
	r := madeBetween(goodBetween)
	for i := range r.figures {
		switch f := &r.figures[i]; {
		case f.Way == tcpAlone.String():
			f.Repeats = slices.Repeat([]float64{700}, 5)
		case f.Way == (way{preload.OpenMPI, alone}).String() && f.Job == "latency":
			f.Repeats = slices.Repeat([]float64{500}, 5)
		}
	}
	var b strings.Builder
	r.writeTable(&b, r.rows())
	assert.Regexp(t, `(?m)^\| TCP alone, latency, .* 64 KiB to 1 MiB \| - \| 1.40 .* \| - \| - \|$`, b.String())
	assert.Regexp(t, `(?m)^\| TCP alone, bandwidth, .* \| - \| mean 0.70, .* \| - \| - \|$`, b.String())
	for _, job := range sectionsBetween[0].jobs(&Config{}) {
		assert.Contains(t, (&Config{}).ways(job), tcpAlone)
	}
	for _, job := range sectionsBetween[2].jobs(&Config{}) {
		assert.NotContains(t, (&Config{}).ways(job), tcpAlone)
	}
}

// MPICH alone may hang where the row is about Open MPI; what that lacks is said.
func TestFailuresBetweenHosts(t *testing.T) {
	list := rowsBetweenHosts()
	x := list[slices.IndexFunc(list, func(x row) bool { return x.section == "collectives" })]
	for h, want := range map[preload.MPI]state{preload.MPICH: kept, preload.OpenMPI: unmeasured} {
		r := madeBetween(goodBetween)
		w := way{h, alone}
		r.Failures = []failure{{"6 ranks", w.String(), 0, "had not ended after 1m0s", false}}
		r.figures = slices.DeleteFunc(r.figures, func(f figure) bool {
			return f.Job == "6 ranks" && f.Way == w.String()
		})
		c := r.against(x, preload.MPICH)
		assert.Equal(t, want, c.state)
		assert.Equal(t, want == unmeasured, c.text == "Open MPI: had not ended after 1m0s")
	}
}

// A run that has printed all and does not end counts, and is named once; one that has printed less does not.
func TestNotEnded(t *testing.T) {
	c := scripted(t, `printf "# one\n# Size   Time (us)\n8  1.5\n"; exec sleep 100`)
	c.Rounds = 2
	r := new(results)
	require.NoError(t, c.measure(t.Context(), r, section{"all", "All", func(*Config) (list []*job) {
		for i, name := range []string{"must end", "all", "more"} {
			list = append(list, &job{name: name, program: "osu", hosts: hosts[:1], limit: 2e9, tables: i})
		}
		return list
	}}))
	w := way{preload.MPICH, alone}
	f := r.one(column{"all", "one", "Time (us)"}, w, 8)
	require.NotNil(t, f)
	assert.Equal(t, []float64{1.5, 1.5}, f.Repeats)
	assert.Nil(t, r.failed("all", w))
	var why []string
	for _, f := range r.Failures {
		if f.Way == w.String() {
			why = append(why, f.Job+" "+f.Why)
		}
	}
	assert.Equal(t, []string{"must end had not ended after 2s",
		"all has printed its figures, but had not ended after 2s", "more had not ended after 2s"}, why)
}

// mpirun is told the hosts, the remote shell and the network, unless the user has chosen that.
func TestCommandsBetweenHosts(t *testing.T) {
	c := scripted(t, "")
	require.NoError(t, os.WriteFile(filepath.Join(c.Programs, "mpirun.openmpi"), nil, 0o777))
	c.Hosts, c.Shell, c.Env = []string{"a", "b", "c"}, "/bin/shell", []string{"UCX_TLS=all"}
	program := filepath.Join(c.Programs, "osu-")
	for h, want := range map[preload.MPI]string{
		preload.MPICH: "mpirun.mpich -launcher ssh -launcher-exec /bin/shell -hosts a,b,c -ppn 2 -np 6 " + program +
			"mpich barrier,allreduce -m 8:8 -t 100",
		preload.OpenMPI: "mpirun.openmpi --bind-to none --host a:2,b:2,c:2 -np 6 " + program +
			"openmpi barrier,allreduce -m 8:8 -t 100",
	} {
		cmd, err := c.command(sectionsBetween[2].jobs(c)[0], way{h, alone}, "/nonexistent")
		require.NoError(t, err)
		assert.Equal(t, want, strings.Join(cmd.Words, " "))
		assert.Equal(t, "/", cmd.Dir)
		assert.Subset(t, cmd.Env, []string{"UCX_TLS=tcp,self,sm", "OMPI_MCA_btl=vader,tcp,self"})
		assert.Less(t, slices.Index(cmd.Env, "UCX_TLS=tcp,self,sm"), slices.Index(cmd.Env, "UCX_TLS=all"))
		assert.Equal(t, h == preload.OpenMPI, slices.Contains(cmd.Env, "OMPI_MCA_plm_rsh_agent=/bin/shell"))
	}
	cmd, err := c.command(sectionsBetween[0].jobs(c)[0], way{preload.OpenMPI, alone}, "/nonexistent")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(cmd.Words, " "), " --host a:1,b:1 -np 2 ")
	cmd, err = c.command(sectionsBetween[0].jobs(c)[0], way{"", ours}, "/nonexistent")
	require.NoError(t, err)
	inGo := "exanet run --shell /bin/shell --hosts a:1,b:1 /nonexistent bench latency --iterations 200 " +
		"--sizes 8:4194304"
	assert.Equal(t, inGo, strings.Join(cmd.Words, " "))
	cmd, err = c.command(sectionsBetween[0].jobs(c)[0], tcpAlone, "/nonexistent")
	require.NoError(t, err)
	assert.Equal(t, inGo+" --tcp", strings.Join(cmd.Words, " "))
}

// What is wrong with a host is said in a line, before anything is run.
func TestTriesHosts(t *testing.T) {
	dir := t.TempDir()
	c := &Config{Exanet: "/bin/sh", Programs: dir, Hosts: []string{"a", "b", "c"}, Env: os.Environ()}
	try := func(script string) (string, error) {
		c.Shell = filepath.Join(dir, "shell")
		require.NoError(t, os.WriteFile(c.Shell, []byte("#!/bin/sh\nhost=$1; shift\n"+script), 0o777))
		return c.tryHosts(t.Context())
	}
	for script, want := range map[string]string{
		"echo denied >&2; exit 255": "host a: the remote shell (" + filepath.Join(dir, "shell") + ") ends with 255: " +
			"see whether it lets you in without a password: denied",
		"test $host = a && exec echo 1 2 3; echo ls: no x >&2; exit 2": "host b: it needs the benchmarks and the " +
			"library under the same paths as here: ls: no x",
		"true": "host a: the remote shell (" + filepath.Join(dir, "shell") + ") has run nothing there: see whether " +
			"it runs commands",
	} {
		_, err := try(script)
		require.EqualError(t, err, want)
	}
	got, err := try(`echo $host; echo cubic; echo 0-7`)
	require.NoError(t, err)
	assert.Equal(t, "3 hosts, whose congestion control is cubic", got)
	got, err = try(`echo x; test $host = b && echo bbr 1 || echo reno 0,2`)
	require.NoError(t, err)
	assert.Equal(t, "3 namespaces of that machine, on its cores 0,2 and 1 and 0,2, whose congestion controls are "+
		"reno on a, bbr on b, reno on c", got)
	control, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	require.NoError(t, err)
	got, err = try(`exec sh -c "$*"`)
	require.NoError(t, err)
	assert.Regexp(t, `^3 namespaces of that machine, on its cores [-,0-9]+ and \S+ and \S+, `+
		"whose congestion control is "+strings.TrimSpace(string(control))+"$", got)
	c.Shell = "/nonexistent/shell"
	_, err = c.tryHosts(t.Context())
	require.ErrorContains(t, err, "the remote shell: ")
}

// Between hosts all ways are compared. Where processors are is known of namespaces of one machine.
func TestProcessorsOfHosts(t *testing.T) {
	c := scripted(t, "")
	c.Hosts = []string{"a", "b", "c"}
	require.NoError(t, os.WriteFile(c.built("osu", preload.OpenMPI), nil, 0o777))
	require.Len(t, c.groups(new(results), sectionsBetween[0].jobs(c)[0], 1), 1)
	require.True(t, sectionsBetween[0].jobs(c)[0].near)
	own, err := sys.Affinity()
	require.NoError(t, err)
	for _, x := range []struct {
		known bool
		boots string
		cores [2]string
	}{
		{false, "xyz", [2]string{"0-7", "1"}},
		{false, "xxx", [2]string{"3,5", "3"}},
		{len(own) > 1, "xxx", [2]string{fmt.Sprint(own[0]), fmt.Sprintf("%d-%d", own[len(own)-1], own[len(own)-1]+3)}},
	} {
		_, err := tripBetween(strings.Split(x.boots, ""), x.cores[:])()
		require.Equal(t, x.known, err == nil, "%v %v", x, err)
	}
}

// The page about hosts has a heading of its own, and what has been written into it stays.
func TestPageBetweenHosts(t *testing.T) {
	c := &Config{Out: filepath.Join(t.TempDir(), "hosts")}
	require.NoError(t, madeBetween(goodBetween).save(c.file()))
	require.NoError(t, Render(c))
	page, err := os.ReadFile(c.Out + ".md")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(page), headingBetween))
	assert.Contains(t, string(page), "\nBetween "+network+".\n")
	assert.Contains(t, string(page), "| 6 ranks on 3 hosts")
	assert.Contains(t, string(page), howBetween)
	assert.NotContains(t, string(page), howHere)
	require.NoError(t, os.WriteFile(c.Out+".md", append(page, "\nMore.\n"...), 0o666))
	require.NoError(t, Render(c))
	again, err := os.ReadFile(c.Out + ".md")
	require.NoError(t, err)
	assert.Equal(t, string(page)+"\nMore.\n", string(again))
}

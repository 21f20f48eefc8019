package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch/preload"
)

var openMPIOurs = way{preload.OpenMPI, ours}

// made makes results of all rows in which everything takes 1000 under the other MPIs and with
// the baseline, and gives ours what of returns for a round of each figure.
func made(of func(c column, size, round int) float64) *results {
	return madeOf(slices.Concat(rows(), rowsOfNewer()), of)
}

func madeOf(rows []row, of func(c column, size, round int) float64) *results {
	r := &results{Form: "full", Rounds: 5, When: "today", Commit: "c0ffee", Machine: "a test", Baseline: "before"}
	for _, x := range rows {
		sizes := []int{0}
		if x.section != "applications" {
			sizes = []int{8, 1024, 16384, 1 << 20}
		}
		for _, c := range x.columns {
			for _, size := range sizes {
				for _, h := range append([]preload.MPI{""}, hosts...) {
					for s := alone; s <= baseline; s++ {
						w := way{h, s}
						inGo := x.inGo || x.section == "applications"
						if h == "" && (s == alone && !x.tcp || s != alone && !inGo) || r.one(c, w, size) != nil {
							continue
						}
						for round := range 5 {
							v := 1000.0
							if s == ours {
								v *= of(c, size, round)
							}
							r.add(w.String(), c, size, v)
						}
					}
				}
			}
		}
	}
	return r
}

// good keeps every bound.
func good(c column, _, _ int) float64 {
	switch {
	case c.Job == "bw":
		return 2
	case c.Job == "idle", c.Job == "overlap":
		return 0.0005
	case strings.HasSuffix(c.Job, " ranks") && c.Job != "2 ranks" && c.Column == "Avg Latency(us)":
		return 0.005
	case c.Job == "latency", c.Job == "2 ranks":
		return 0.5
	}
	return 1
}

// states are those of the rows.
func (r *results) states() map[string]state {
	all := map[string]state{}
	for _, x := range r.rows() {
		all[x.what] = overall([]cell{r.against(x, preload.MPICH), r.against(x, preload.OpenMPI), r.againstBaseline(x)})
	}
	return all
}

func TestBoundsKept(t *testing.T) {
	for what, s := range made(good).states() {
		assert.Equal(t, kept, s, what)
	}
	for what, s := range new(results).states() {
		assert.Equal(t, unmeasured, s, what)
	}
}

// Each of these makes one row, and no other, be not kept, or noise.
func TestBoundsBroken(t *testing.T) {
	job := func(name string, v float64) func(column, int, int) (float64, bool) {
		return func(c column, _, _ int) (float64, bool) { return v, c.Job == name }
	}
	for name, x := range map[string]struct {
		row  string
		want state
		of   func(c column, size, round int) (float64, bool)
	}{
		"one size": {"latency, 2 ranks, 1 B to 4 MiB", broken,
			func(c column, size, _ int) (float64, bool) { return 1.06, c == latencyColumn && size == 1024 }},
		"the mean": {"latency, 2 ranks, 1 B to 4 MiB", broken, job("latency", 0.7)},
		"some rounds": {"latency, 2 ranks, 1 B to 4 MiB", noise, func(c column, size, round int) (float64, bool) {
			return []float64{0.5, 0.5, 1.1, 1.1, 1.1}[round], c == latencyColumn && size == 8
		}},
		"one round": {"latency, 2 ranks, 1 B to 4 MiB", kept, func(c column, size, round int) (float64, bool) {
			return []float64{0.5, 0.5, 0.5, 0.5, 9}[round], c == latencyColumn && size == 8
		}},
		"noise and more": {"latency, 2 ranks, 1 B to 4 MiB", broken, func(c column, size, round int) (float64, bool) {
			return float64(size) / 8 * []float64{0.5, 0.5, 1.1, 1.1, 1.1}[round], c == latencyColumn && size <= 1024
		}},
		"bandwidth": {"bandwidth, window of 64, 1 B to 4 MiB", broken,
			func(c column, size, _ int) (float64, bool) { return 0.9, c == bandwidthColumn && size == 8 }},
		"its mean": {"bandwidth, window of 64, 1 B to 4 MiB", broken, job("bw", 1.3)},
		"one collective": {"15 blocking collectives of 2 ranks, 8 B to 1 MiB", broken,
			func(c column, size, _ int) (float64, bool) {
				return 1.1, c.Job == "2 ranks" && c.Table == "scan" && size == 8
			}},
		"crowded": {"4 and 8 ranks on 2 cores, 8 B to 64 KiB", broken, func(c column, size, _ int) (float64, bool) {
			return 0.02, c.Job == "8 ranks" && c.Table == "reduce" && size == 8
		}},
		"short calls": {"calls that enter Go, 8 B", broken,
			job("short calls", 2.6)},
		"long calls": {"the same with data, 16 KiB to 1 MiB", broken,
			func(c column, size, _ int) (float64, bool) { return 1.1, c.Job == "long calls" && size == 16384 }},
		"an application": {"LAMMPS", broken, job("LAMMPS, 4 ranks", 1.04)},
		"in Go":          {"conjugate gradients (Go)", broken, job("conjugate gradients (Go), 2 ranks", 1.06)},
		"busy": {"processor time of a rank that is blocked", broken,
			func(c column, _, _ int) (float64, bool) { return 0.002, c == idleColumns[3] }},
		"excess": {"1 MiB under a computation: time beyond that", broken,
			func(c column, _, _ int) (float64, bool) { return 0.006, c == overlapColumns[1] }},
		"start": {"MPI_Init, 2 ranks", broken, job("initfini", 1.03)},
	} {
		t.Run(name, func(t *testing.T) {
			got := made(func(c column, size, round int) float64 {
				if v, is := x.of(c, size, round); is {
					return v
				}
				return good(c, size, round)
			}).states()
			for what, s := range got {
				if what == x.row {
					assert.Equal(t, x.want, s, what)
				} else {
					assert.Equal(t, kept, s, what)
				}
			}
		})
	}
}

// A run of ours without figures is a bound not kept; one of another MPI says nothing. An MPI that
// was run once counts in every round.
func TestFailuresInTheTable(t *testing.T) {
	x := rows()[0]
	for _, s := range []stack{alone, ours} {
		r := made(good)
		w := way{preload.MPICH, s}
		r.Failures = []failure{{"latency", w.String(), 0, "had not ended after 30s", false}}
		r.figures = slices.DeleteFunc(r.figures, func(f figure) bool {
			return f.Job == "latency" && f.Way == w.String()
		})
		c := r.against(x, preload.MPICH)
		assert.Equal(t, map[stack]state{alone: unmeasured, ours: broken}[s], c.state)
		assert.Contains(t, c.text, "had not ended after 30s")
	}
	r := made(good)
	for _, f := range r.series(latencyColumn, way{preload.MPICH, alone}) {
		f.Repeats = f.Repeats[:1]
	}
	assert.Equal(t, kept, r.against(x, preload.MPICH).state)
	for _, f := range r.series(latencyColumn, way{preload.MPICH, ours}) {
		f.Repeats = f.Repeats[:2]
	}
	assert.Equal(t, noise, r.against(x, preload.MPICH).state, "two rounds have no spread")
}

// The ratio in the table is that of the medians beside it.
func TestOneStatistic(t *testing.T) {
	r := made(good)
	c := column{"LAMMPS, 2 ranks", runTable, runSeconds}
	r.one(c, openMPIOurs, 0).Repeats = []float64{1, 2, 4, 5, 9}
	r.one(c, way{preload.OpenMPI, alone}, 0).Repeats = []float64{9, 8, 8, 8, 7}
	r.one(c, way{preload.MPICH, alone}, 0).Repeats = []float64{9, 9, 9, 9, 9}
	i := slices.IndexFunc(rows(), func(x row) bool { return x.what == "LAMMPS" })
	assert.Equal(t, "mean 0.71, worst 1.00 (1000/1000 s, 4 ranks)",
		r.against(rows()[i], preload.OpenMPI).text)
	for _, v := range []struct {
		of   measure
		want string
	}{{ratio, "0.50 (4.00/8.00 s)"}, {difference, "-4.00 (4.00 - 8.00 s)"},
		{absolute, "4.00 against 8.00 s"}} {
		p := newPoint("", v.of, r.one(c, openMPIOurs, 0), r.one(c, way{preload.OpenMPI, alone}, 0), 1)
		assert.Equal(t, v.want, p.text(bound{of: v.of}, false))
	}
}

// The page has what was measured only, and few words even if nothing is within its bound.
func TestPage(t *testing.T) {
	measured := made(good)
	measured.figures = slices.DeleteFunc(measured.figures, func(f figure) bool { return f.Job != "bw" })
	page := measured.page("x", nil)
	assert.Contains(t, page, "| bandwidth,")
	assert.NotContains(t, page, "| latency,")
	bad := made(func(c column, size, round int) float64 {
		return map[bool]float64{true: 0.5, false: float64(5 + size%7 + round%2*size)}[c.Job == "bw"]
	})
	assert.Less(t, len(strings.Fields(bad.page("performance", nil))), 1120, "the page by hand has 380 more")
}

// Of newer MPIs there is a table for each file, with bounds of their own: of sizes up to 4 KiB.
func TestNewer(t *testing.T) {
	dir := t.TempDir()
	c := &Config{Out: filepath.Join(dir, "page"), With: []string{filepath.Join(dir, "other.jsonl")}}
	require.NoError(t, made(good).save(c.file()))
	other := made(func(c column, size, _ int) float64 {
		switch {
		case c.Table == "bcast" && size > 4096:
			return 5
		case c.Table == "allgather" && c.Job == "4 ranks":
			return 0.6
		}
		return 0.4
	})
	other.Machine, other.Baseline = "2 cores of a test, Linux 6, MPICH 5.0.2, Open MPI 6.0.0rc2", ""
	require.NoError(t, other.save(c.With[0]))
	require.NoError(t, Render(c))
	page, err := os.ReadFile(c.Out + "-newer.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## MPICH 5.0.2, Open MPI 6.0.0rc2\n\nMeasured on today")
	require.True(t, found, "%s", page)
	require.Regexp(t, `alltoall \| [^|]* \|[^|]*of 8 B\); 2 not kept \|[^|]*of 8 B\) \| not kept \|`, table)
	require.Regexp(t, `bcast, reduce, scatter, gather \| ≤1.2 \|[^\n]* \| kept \|`, table)
	c.With = []string{filepath.Join(dir, "missing")}
	require.ErrorIs(t, Render(c), os.ErrNotExist)
}

func TestStoredAndRendered(t *testing.T) {
	c := &Config{Out: filepath.Join(t.TempDir(), "performance")}
	require.ErrorIs(t, Render(c), ErrNothing)
	require.NoError(t, os.WriteFile(c.Out+".md", []byte("# Figures\n\nBy hand.\n"), 0o666))
	r := made(good)
	r.Failures = []failure{{"latency", "x", 1, "why", false}}
	require.NoError(t, r.save(c.file()))
	loaded, err := load(c.file())
	require.NoError(t, err)
	require.Equal(t, r, loaded)

	require.NoError(t, Render(c))
	page, err := os.ReadFile(c.Out + ".md")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(page), "# Figures\n\nBy hand.\n\n"+beginMark))
	assert.Contains(t, string(page), "with commit c0ffee, and before as the baseline, on\na test.")
	assert.Contains(t, string(page), "- latency, x, round 2:\n  why")
	for _, name := range plotNames {
		svg, err := os.ReadFile(filepath.Join(c.Out, name))
		require.NoError(t, err)
		assert.Contains(t, string(page), "![](performance/"+name+")")
		d := xml.NewDecoder(bytes.NewReader(svg))
		for err == nil {
			_, err = d.Token()
		}
		require.ErrorIs(t, err, io.EOF, name)
		assert.Contains(t, string(svg), openMPIOurs.String())
	}

	// Again, it takes the place of itself, and what is behind stays.
	require.NoError(t, os.WriteFile(c.Out+".md", append(page, "\nMore.\n"...), 0o666))
	require.NoError(t, Render(c))
	again, err := os.ReadFile(c.Out + ".md")
	require.NoError(t, err)
	assert.Equal(t, string(page)+"\nMore.\n", string(again))
}

// scripted makes a folder with launchers that are a script, which sees the arguments of the
// program as its own, and makes it that of the programs as well.
func scripted(t *testing.T, script string) *Config {
	t.Helper()
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mpirun.mpich"), []byte("#!/bin/sh\nshift 3\n"+script), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "osu-mpich"), nil, 0o777))
	return &Config{Exanet: "/nonexistent", Programs: bin, Out: filepath.Join(bin, "page"), Env: os.Environ()}
}

// A page that cannot be written is found out before anything is run.
func TestPageWithoutPlace(t *testing.T) {
	c := scripted(t, "exit 3\n")
	c.Progress = new(bytes.Buffer)
	c.Results, c.Out = c.Out+".jsonl", filepath.Join(c.built("osu", preload.MPICH), "page")
	require.ErrorContains(t, Run(t.Context(), c), "osu-mpich")
	require.Empty(t, c.Progress)
}

// A run that ends before there are figures leaves nothing, and what was there before.
func TestInterrupted(t *testing.T) {
	c := scripted(t, "exit 3\n")
	c.Out = filepath.Join(c.Programs, "new", "newer", "page")
	old := filepath.Join(c.Programs, "old")
	require.NoError(t, os.Mkdir(old, 0o777))
	c.Results = filepath.Join(old, "figures")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(assert.AnError)
	require.ErrorIs(t, Run(ctx, c), assert.AnError)
	require.NoDirExists(t, filepath.Join(c.Programs, "new"))
	require.DirExists(t, old)
}

// The runs: with a limit, and one that fails costs its own figures only.
func TestMeasure(t *testing.T) {
	c := scripted(t, `case $1 in
good) test -f metal.in || exit 4; printf "# exanet's thing, 2 ranks\n# Size   Time (us)\n8  1.5\n16  2.5\n";;
bad) echo it is broken; echo -----; exit 3;;
silent) ;;
lies) echo "    1 tests completed and failed residual checks.";;
late) exec sleep 100;;
esac
`)
	var progress bytes.Buffer
	c.Rounds, c.Progress = 2, &progress
	alone := way{preload.MPICH, alone}
	r := new(results)
	require.NoError(t, c.measure(t.Context(), r, section{"all", "All of them", func(*Config) (list []*job) {
		for _, name := range []string{"good", "bad", "silent", "lies", "late"} {
			list = append(list, &job{name: name, program: "osu", args: []string{name}, hosts: hosts[:1], limit: 300e6})
		}
		list[0].hosts, list[0].limit, list[0].least = hosts, 60e9, 3 // Open MPI is not here
		list[0].input, list[0].fill = "metal.in", strings.NewReplacer()
		list[3].timed, list[3].believe = true, passed
		return list
	}}))
	f := r.one(column{"good", "thing", "Time (us)"}, alone, 16)
	require.NotNil(t, f)
	assert.Equal(t, []float64{2.5, 2.5, 2.5}, f.Repeats)
	assert.Equal(t, []float64{0.3}, r.one(column{"late", runTable, runSeconds}, alone, 0).Repeats, "at least")
	why := map[string]string{}
	for _, f := range r.Failures {
		if f.Way == alone.String() {
			why[f.Job] += f.Why
		}
	}
	assert.Empty(t, why["good"])
	assert.Equal(t, "its MPI, or the benchmarks built with it, is not there", r.failed("good", openMPIOurs).Why)
	assert.Equal(t, "exits with code 3: it is broken", why["bad"], "once")
	assert.Contains(t, why["silent"], "prints no figures")
	assert.Contains(t, why["lies"], "its own checks have not passed")
	assert.Equal(t, "had not ended after 300ms", why["late"])
	assert.Contains(t, progress.String(), "round 3 of 3, good")
}

// A page without any figure says why.
func TestNothing(t *testing.T) {
	c := scripted(t, "exit 1")
	c.Only = []string{"start"}
	require.ErrorIs(t, Run(t.Context(), c), ErrNothing)
	page, err := os.ReadFile(c.Out + ".md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "- initfini, MPICH, round 1:\n  exits with code 1")
}

// Runs that are compared are repeated if the processors have been moved meanwhile, and count as
// they are if that does not end.
func TestSideBySide(t *testing.T) {
	near, far := 30.0, 60.0
	for _, x := range []struct {
		trips    []float64 // then near
		kept     float64   // the run
		repeated int
	}{
		{nil, 1, 0},
		{[]float64{near, 45}, 1, 0},
		{[]float64{near, far}, 2, 1},
		{[]float64{near, far, near, far, near, far, near, far}, 4, 3},
		{[]float64{-1, far}, 1, 0}, // not known
	} {
		c := scripted(t, `echo x >>$0.runs; printf "# exanet's thing, 2 ranks\n# Size   Time (us)\n8  $(wc -l `+
			`<$0.runs)\n"`)
		i := 0
		c.trip = func() (float64, error) {
			if i++; i > len(x.trips) {
				return near, nil
			}
			if x.trips[i-1] < 0 {
				return 0, io.ErrUnexpectedEOF
			}
			return x.trips[i-1], nil
		}
		r, j := new(results), &job{name: "one", program: "osu", near: true, limit: 60e9}
		require.NoError(t, c.sideBySide(t.Context(), r, j, []way{{preload.MPICH, alone}}, 0))
		assert.Equal(t, []float64{x.kept}, r.one(column{"one", "thing", "Time (us)"}, way{preload.MPICH, alone},
			8).Repeats, "%v", x.trips)
		assert.Equal(t, x.repeated, r.Repeated, "%v", x.trips)
	}
}

// Those under one MPI are a group, there and back.
func TestGroups(t *testing.T) {
	c := scripted(t, "")
	require.NoError(t, os.WriteFile(c.built("osu", preload.OpenMPI), nil, 0o777))
	c.Baseline = "/nonexistent"
	j := &job{name: "latency", hosts: hosts, baseline: true}
	all := func(h preload.MPI) []way { return []way{{h, alone}, {h, ours}, {h, baseline}} }
	want := [][]way{all(preload.MPICH), all(preload.OpenMPI)}
	assert.Equal(t, want, c.groups(new(results), j, 0))
	slices.Reverse(want)
	slices.Reverse(want[0])
	slices.Reverse(want[1])
	assert.Equal(t, want, c.groups(new(results), j, 1))
	j.baseline, j.hosts = false, []preload.MPI{""}
	assert.Equal(t, [][]way{{{"", ours}}}, c.groups(new(results), j, 0))
}

// Every section has a row, whose figures a job of it makes, and every job has a limit.
func TestPlan(t *testing.T) {
	for _, form := range []struct {
		quick   bool
		between []string
	}{{false, nil}, {true, nil}, {false, []string{"a", "b", "c"}}, {true, []string{"a", "b", "c"}}} {
		quick, table := form.quick, rows()
		if form.between != nil {
			table = rowsBetweenHosts()
		}
		c := &Config{Quick: quick, Hosts: form.between}
		for _, s := range c.sections() {
			names := map[string]bool{}
			for _, j := range s.jobs(c) {
				assert.NotZero(t, j.limit, j.name)
				assert.NotEmpty(t, j.hosts, j.name)
				names[j.name] = true
			}
			rowless := maps.Clone(names)
			for _, x := range table {
				for _, column := range x.columns {
					// the quick form leaves out applications of 4 ranks
					left := quick && s.name == "applications"
					assert.True(t, x.section != s.name || names[column.Job] || left, column.Job)
				}
				delete(rowless, x.columns[0].Job)
				delete(rowless, x.columns[len(x.columns)-1].Job)
			}
			assert.Empty(t, rowless, s.name)
		}
	}
}

// A host of namespaces may have some of a machine's cores only; the page tells of all.
func TestProcessors(t *testing.T) {
	const info = "processor\t: 0\nmodel name\t: X 9\n\nprocessor\t: 1\nmodel name\t: X 9\n"
	require.Equal(t, "2 cores of X 9", processors(info, 1))
	require.Equal(t, "3 cores of "+runtime.GOARCH, processors("", 3))
}

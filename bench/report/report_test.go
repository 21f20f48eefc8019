package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ideal makes results of all sections in which everything takes 1 under the other MPIs,
// and gives ours what of returns for each figure.
func ideal(ours func(c column, size int) float64) Set {
	set := Set{}
	put := func(c column, way string, size int, v float64) {
		if set[c.section] == nil {
			set[c.section] = &Results{Section: c.section, Form: "full", Rounds: 5, Machine: "a test"}
		}
		for range 3 {
			set[c.section].add(c.job, way, c.table, c.column, size, v)
		}
	}
	all := func(c column, sizes ...int) {
		for _, size := range sizes {
			for _, o := range opponents {
				put(c, o.alone, size, 1000)
				put(c, o.ours, size, 1000*ours(c, size))
			}
		}
	}
	var sizes []int
	for n := 1; n <= 4<<20; n *= 2 {
		sizes = append(sizes, n)
	}
	all(latencyColumn, sizes...)
	all(bwColumn, sizes...)
	all(bibwColumn, sizes...)
	all(rateColumn, 8)
	for _, name := range collectives {
		all(collectiveColumn("collectives", "2 ranks", name), 8, 1024, 1<<20)
	}
	for _, job := range []string{"4 ranks", "8 ranks"} {
		for _, name := range append(append([]string{}, crowded...), crowdedRooted...) {
			all(collectiveColumn("crowd", job, name), 8, 1024, 65536)
		}
	}
	for _, call := range idleCalls {
		all(idleColumn(call), 2000)
	}
	for _, call := range overlapCalls {
		all(excessColumn(call), 1<<20)
	}
	all(togetherColumn, 1<<20)
	all(computesColumn, 1<<20)
	all(column{"overlap", "computing", "computing", "Excess (us)"}, 1<<20)
	for _, n := range []int{2500, 5000, 10000, 20000} {
		all(manyColumn, n)
	}
	all(startColumn, 2)
	for _, c := range []column{{"refused", "latency", "latency", "Latency (us)"}, {"refused", "bw", "bw", "Bandwidth (MB/s)"}} {
		all(c, sizes...)
		c.job += " -a"
		all(c, sizes...)
	}
	for _, ranks := range []string{"2", "4"} {
		c := column{"cg", "cg, " + ranks + " ranks", "cg", "Seconds"}
		put(c, inGo, 0, ours(c, 0))
	}
	xdlu := column{"scalapack", "xdlu", runTable, runSeconds}
	put(xdlu, mpichOurs, 0, 100*ours(xdlu, 0))
	put(xdlu, mpichAlone, 0, 100)
	put(goLatency, inGo, 8, ours(goLatency, 8))
	put(goAllocations, inGo, 8, ours(goAllocations, 8))
	put(column{"go", "floor", "cache line, core to core", "ns"}, inGo, 0, 1000)
	all(wakeColumn, 8)
	put(column{"wake", "floor", "futex wake-up", "us"}, inGo, 0, 900)
	for _, way := range floorWays {
		put(column{"floor", "copies", floorTable, way}, inGo, 8, 790)
	}
	put(column{"crowd", "8 processes", "exanet bench floor, 8 processes", "Shared (us)"}, inGo, 65536, 164)
	put(column{"crowd", "8 processes", "exanet bench floor, 8 processes", "Attach (us)"}, inGo, 65536, 0) // refused
	return set
}

// good keeps every bound.
func good(c column, size int) float64 {
	switch {
	case c.section == "bandwidth" || c.section == "rate":
		return 2
	case c.section == "crowd":
		return 1.0 / 300
	case c.section == "scalapack":
		return 1.0 / 30
	case c.section == "overlap" && c.column == "Excess (us)", c.section == "idle":
		return 0.0005
	case c == manyColumn:
		return float64(size) / 1e5
	case c.job == "bw -a":
		return 0.5
	case c == goAllocations:
		return 0
	case c.section == "latency" && size == 8:
		return 0.86 // within 10 % of the floor
	case c.section == "latency" || c.section == "collectives":
		return 0.4
	}
	return 1
}

func TestBoundsKept(t *testing.T) {
	for _, v := range ideal(good).verdicts() {
		assert.Equal(t, kept, v.state(), "%s: %+v", v.what, v.cells)
	}
	for _, v := range (Set{}).verdicts() {
		assert.Equal(t, unmeasured, v.state(), "%s: %+v", v.what, v.cells)
	}
}

// Each of these makes one row, and no other, be not kept.
func TestBoundsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		row   string
		worse func(c column, size int) (float64, bool)
	}{
		"one size":   {"latency, 2 ranks", func(c column, size int) (float64, bool) { return 0.9, c == latencyColumn && size == 64 }},
		"the mean":   {"latency, 2 ranks", func(c column, size int) (float64, bool) { return 0.8, c == latencyColumn }},
		"large ones": {"bandwidth, window 64", func(c column, size int) (float64, bool) { return 1.4, c == bwColumn && size == 1<<20 }},
		"both ways":  {"bandwidth both ways, window 64", func(c column, size int) (float64, bool) { return 0.99, c == bibwColumn && size == 1<<20 }},
		"rate":       {"message rate, 8 B", func(c column, _ int) (float64, bool) { return 1.4, c == rateColumn }},
		"one collective": {"collectives of 2 ranks, 8 B to 1 MiB", func(c column, size int) (float64, bool) {
			return 0.95, c.section == "collectives" && c.table == "scan" && size == 8
		}},
		"crowded": {"4 and 8 ranks on few cores: barrier, reduce, allreduce, allgather, alltoall, to 64 KiB", func(c column, size int) (float64, bool) {
			return 0.01, c.section == "crowd" && c.table == "reduce" && size == 8
		}},
		"crowded, rooted": {"the same: bcast, scatter", func(c column, size int) (float64, bool) {
			return 1.01, c.section == "crowd" && c.table == "bcast" && size == 8
		}},
		"four ranks":               {"conjugate gradients (examples/cg), 4 ranks on 2 cores", func(c column, _ int) (float64, bool) { return 1.4, c.job == "cg, 4 ranks" }},
		"scalapack":                {"ScaLAPACK's xdlu, 4 ranks", func(c column, _ int) (float64, bool) { return 0.1, c.section == "scalapack" }},
		"busy":                     {"processor time of a rank that is blocked for 2 s", func(c column, _ int) (float64, bool) { return 0.002, c == idleColumn("Barrier") }},
		"excess":                   {"1 MiB Irecv or Isend under a computation, the peer in Send or Recv: excess", func(c column, _ int) (float64, bool) { return 0.003, c == excessColumn("Isend") }},
		"together":                 {"both sides computing, no spare core", func(c column, _ int) (float64, bool) { return 1.1, c == togetherColumn }},
		"not linear":               {"10,000 unexpected messages received in reverse order of tags", func(c column, size int) (float64, bool) { return float64(size) * float64(size) / 1e9, c == manyColumn }},
		"a slow wake-up":           {"a message to a rank that sleeps, and its answer", func(c column, _ int) (float64, bool) { return 1.1, c == wakeColumn }},
		"start":                    {"MPI_Init plus MPI_Finalize, 2 ranks", func(c column, _ int) (float64, bool) { return 1.03, c == startColumn }},
		"refused, small":           {"cross-memory attach refused, to the same without that", func(c column, size int) (float64, bool) { return 1.2, c.job == "latency -a" && size == 8 }},
		"refused, large":           {"cross-memory attach refused, to the same without that", func(c column, size int) (float64, bool) { return 0.3, c.job == "bw -a" && size == 1<<20 }},
		"the Go way is slow":       {"programs in Go: latency of 8 B", func(c column, _ int) (float64, bool) { return 2.1, c == goLatency }},
		"the Go way uses the heap": {"programs in Go: latency of 8 B", func(c column, _ int) (float64, bool) { return 1, c == goAllocations }},
	} {
		t.Run(name, func(t *testing.T) {
			set := ideal(func(at column, size int) float64 {
				if v, is := c.worse(at, size); is {
					return v
				}
				return good(at, size)
			})
			for _, v := range set.verdicts() {
				want := kept
				if v.what == c.row {
					want = broken
				}
				assert.Equal(t, want, v.state(), "%s: %+v", v.what, v.cells)
			}
		})
	}
}

// A run of ours without figures is a bound not kept; one of another MPI says nothing.
func TestFailuresInTheTable(t *testing.T) {
	without := func(way string) verdict {
		set := ideal(good)
		r := set["latency"]
		r.Figures = nil
		r.Failures = []Failure{{"latency", way, 0, "had not ended after 30s"}}
		for _, o := range opponents {
			for _, w := range []string{o.alone, o.ours} {
				if w != way {
					r.add("latency", w, "latency", "Latency (us)", 8, 1)
				}
			}
		}
		return set.latencyVerdict()
	}
	assert.Equal(t, broken, without(mpichOurs).cells[0].state)
	assert.Equal(t, unmeasured, without(mpichAlone).cells[0].state)
	assert.Contains(t, without(mpichAlone).cells[0].text, "had not ended after 30s")
}

// A peer that was cut off has taken at least so long.
func TestCutOff(t *testing.T) {
	set := Set{"scalapack": {}}
	set["scalapack"].add("xdlu", mpichOurs, runTable, runSeconds, 0, 5)
	set["scalapack"].add("xdlu", mpichAlone, runTable, runCutAfter, 0, 300)
	v := set.scalapackVerdict()
	assert.Equal(t, kept, v.state())
	assert.Contains(t, v.cells[0].text, "less than 1/60")
	set["scalapack"].Figures[1].Repeats[0] = 60
	assert.Equal(t, unmeasured, set.scalapackVerdict().state())
}

func TestStoredAndRendered(t *testing.T) {
	out := filepath.Join(t.TempDir(), "performance")
	require.NoError(t, os.Mkdir(out, 0o777))
	require.NoError(t, os.WriteFile(out+".md", []byte("# Figures\n\nBy hand.\n"), 0o666))
	set := ideal(good)
	set["latency"].Failures = []Failure{{"latency", "x", 1, "why"}}
	for _, r := range set {
		require.NoError(t, r.save(out))
	}
	loaded, err := load(out)
	require.NoError(t, err)
	require.Equal(t, set, loaded)

	require.NoError(t, Render(out))
	page, err := os.ReadFile(out + ".md")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(page), "# Figures\n\nBy hand.\n\n"+beginMark))
	assert.Contains(t, string(page), "| 4 MiB |")
	assert.Contains(t, string(page), "| 8 processes, 64 KiB | 164 | - |")
	assert.Contains(t, string(page), "- latency, x, round 2: why")
	for _, name := range []string{"latency", "bandwidth", "bibw", "collectives", "crowd4", "crowd8", "idle", "overlap"} {
		svg, err := os.ReadFile(filepath.Join(out, name+".svg"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "![](performance/"+name+".svg)")
		d := xml.NewDecoder(bytes.NewReader(svg))
		for err == nil {
			_, err = d.Token()
		}
		require.ErrorIs(t, err, io.EOF, name)
		assert.Contains(t, string(svg), mpichOurs)
	}

	// Again, it takes the place of itself, and what is behind stays.
	require.NoError(t, os.WriteFile(out+".md", append(page, "\nMore.\n"...), 0o666))
	require.NoError(t, Render(out))
	again, err := os.ReadFile(out + ".md")
	require.NoError(t, err)
	assert.Equal(t, string(page)+"\nMore.\n", string(again))
}

// The runs: in turn, with a limit, and one that fails costs its own figures only.
func TestMeasure(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	script := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o777))
	}
	script("osu-mpich", "")
	script("exanet", `case $1 in
good) echo good >>"$0.log"; printf "# exanet's thing, 2 ranks\n# Size   Time (us)\n8  1.5\n16  2.5\n";;
bad) echo it is broken; exit 3;;
silent) ;;
late) exec sleep 100;;
esac
`)
	var progress bytes.Buffer
	c := &Config{Exanet: filepath.Join(bin, "exanet"), Programs: bin, Env: os.Environ(), Rounds: 2, Progress: &progress}
	jobs := func(*Config) (list []*job) {
		for _, name := range []string{"good", "bad", "silent", "late"} {
			list = append(list, &job{name: name, args: []string{name}, ways: []string{inGo}, limit: 300e6})
		}
		list[0].ways = []string{inGo, openmpiAlone} // which is not here
		list[0].limit, list[0].least = 60e9, 3
		return list
	}
	r, err := c.measure(t.Context(), section{"all", "All of them", jobs})
	require.NoError(t, err)
	set := Set{"all": r}
	f := set.one("all", "good", inGo, "thing", "Time (us)", 16)
	require.NotNil(t, f)
	assert.Equal(t, []float64{2.5, 2.5, 2.5}, f.Repeats)
	assert.Equal(t, []float64{0.3}, set.one("all", "late", inGo, runTable, runCutAfter, 0).Repeats)
	why := map[string]string{}
	for _, f := range r.Failures {
		why[f.Job] += f.Why
	}
	assert.Equal(t, "its MPI, or the benchmarks built with it, is not there", why["good"])
	assert.Equal(t, "exits with code 3: it is broken", why["bad"], "once")
	assert.Contains(t, why["silent"], "prints no figures")
	assert.Equal(t, "had not ended after 300ms", why["late"])
	assert.Contains(t, progress.String(), "round 3 of 3, good")
}

// A page without any figure is none.
func TestNothing(t *testing.T) {
	bin := t.TempDir()
	require.ErrorIs(t, Render(filepath.Join(bin, "page")), ErrNothing)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "osu-mpich"), nil, 0o777))
	t.Setenv("PATH", bin) // where no launcher is
	c := &Config{Exanet: "/nonexistent", Programs: bin, Out: filepath.Join(bin, "page"), Only: []string{"rate"}}
	require.ErrorIs(t, Run(t.Context(), c), ErrNothing)
	require.FileExists(t, c.Out+".md")
}

// Runs that are compared are repeated if the processors have been moved meanwhile, and count as they are if that does not end.
func TestTogether(t *testing.T) {
	bin := t.TempDir()
	exanet := filepath.Join(bin, "exanet")
	require.NoError(t, os.WriteFile(exanet, []byte("#!/bin/sh\necho x >>$0.runs; printf \"# exanet's thing, 2 ranks\\n# Size   Time (us)\\n8  $(wc -l <$0.runs)\\n\"\n"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "osu-mpich"), nil, 0o777))
	near, far := 30.0, 60.0
	for _, c := range []struct {
		trips           []float64 // then near
		kept            []float64 // of two runs
		repeated, moved int
	}{
		{nil, []float64{1, 2}, 0, 0},
		{[]float64{near, 45, near}, []float64{1, 2}, 0, 0},
		{[]float64{near, far}, []float64{3, 4}, 1, 0},
		{[]float64{near, near, far, far, far, far}, []float64{3, 4}, 1, 0},
		{[]float64{near, far, near, near, far, near, near, far, near, near, near, far, near, far, near}, []float64{9, 10}, 4, 1},
		{[]float64{-1, far, -1}, []float64{1, 2}, 0, 0}, // not known
	} {
		os.Remove(exanet + ".runs")
		i := 0
		config := &Config{Exanet: exanet, Programs: bin, Env: os.Environ(), Rounds: 1, trip: func() (float64, error) {
			if i++; i > len(c.trips) {
				return near, nil
			}
			if c.trips[i-1] < 0 {
				return 0, io.ErrUnexpectedEOF
			}
			return c.trips[i-1], nil
		}}
		r, err := config.measure(t.Context(), section{"all", "All of them", func(*Config) (list []*job) {
			for _, name := range []string{"one", "other"} {
				list = append(list, &job{name: name, beside: "thing", ways: []string{inGo}, limit: 60e9})
			}
			return list
		}})
		require.NoError(t, err)
		set := Set{"all": r}
		for i, name := range []string{"one", "other"} {
			assert.Equal(t, c.kept[i:i+1], set.one("all", name, inGo, "thing", "Time (us)", 8).Repeats, "%v", c.trips)
		}
		assert.Equal(t, []int{c.repeated, c.moved}, []int{r.Repeated, r.Moved}, "%v", c.trips)
	}
}

// Under each MPI there are pairs of runs to be compared; and whatever is compared between jobs as well.
func TestGroups(t *testing.T) {
	for name, want := range map[string][][]string{
		"latency": {{"latency " + mpichAlone, "latency " + mpichOurs}, {"latency " + openmpiAlone, "latency " + openmpiOurs}},
		"refused": {{"latency " + mpichOurs, "latency -a " + mpichOurs}, {"latency " + openmpiOurs, "latency -a " + openmpiOurs}, {"bw " + mpichOurs, "bw -a " + mpichOurs}, {"bw " + openmpiOurs, "bw -a " + openmpiOurs}, {"floor " + inGo}},
		"rate":    {{"mbw_mr " + mpichAlone, "mbw_mr " + mpichOurs, "mbw_mr " + openmpiAlone, "mbw_mr " + openmpiOurs}},
		"wake":    {{"wake " + mpichAlone, "wake " + mpichOurs, "wake " + openmpiAlone, "wake " + openmpiOurs, "floor " + inGo}},
		"idle":    {{"idle " + mpichAlone}, {"idle " + mpichOurs}, {"idle " + openmpiAlone}, {"idle " + openmpiOurs}},
		"go":      {{"go latency " + inGo, "floor " + inGo}, {"go bw " + inGo}},
	} {
		c := &Config{}
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
		for round := range 2 {
			var got [][]string
			for _, g := range c.groups(new(Results), sections[i].jobs(c), round) {
				var names []string
				for _, r := range g {
					names = append(names, r.job.name+" "+r.way)
				}
				got = append(got, names)
			}
			if round == 0 {
				assert.Equal(t, want, got)
			} else if name == "latency" {
				slices.Reverse(want)
				slices.Reverse(want[0])
				slices.Reverse(want[1])
				assert.Equal(t, want, got)
			}
		}
	}
}

func TestParsers(t *testing.T) {
	tables, err := parseCG("grid  x\niterations  60 in 1.250 s\n")
	require.NoError(t, err)
	assert.Equal(t, []float64{1.25, 60}, tables[0].Rows[0].Values)
	_, err = parseCG("nothing")
	require.Error(t, err)
	_, err = parseScalapack("    0 tests completed and failed residual checks.")
	require.NoError(t, err)
	_, err = parseScalapack("    1 tests completed and failed residual checks.")
	require.Error(t, err)
	tables, err = parseFloor(`{"lines":[{"name":"a","unit":"us","value":2,"repeats":[2]},{"name":"b","refused":"no"}]}`)
	require.NoError(t, err)
	require.Len(t, tables, 1)
	tables, err = parseGo(`{"benchmark":"latency","unit":"us","rows":[{"size":8,"value":0.2,"allocations":1}]}`)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.2, 1}, tables[0].Rows[0].Values)
}

// Every section has a job with a limit, whose command can be made.
func TestPlan(t *testing.T) {
	for _, quick := range []bool{false, true} {
		c := &Config{Quick: quick, Programs: "/nowhere"}
		for _, s := range sections {
			for _, j := range s.jobs(c) {
				assert.NotZero(t, j.limit, j.name)
				assert.NotEmpty(t, j.ways, j.name)
			}
		}
	}
}

package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/bench/floor"
)

// say prints to the progress.
func (c *Config) say(format string, args ...any) {
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, format, args...)
	}
}

// step prints what is run now. On a terminal it takes the place of the last step.
func (c *Config) step(format string, args ...any) {
	if c.Terminal {
		format = "\r\x1b[K" + format
	} else {
		format += "\n"
	}
	c.say(format, args...)
}

// begin makes the results of a run that begins now.
func (c *Config) begin(ctx context.Context) *results {
	r := &results{Form: choose(c, "full", "quick"), Rounds: c.rounds(),
		When:   time.Now().UTC().Format("2006-01-02 15:04"),
		Commit: commit(ctx, filepath.Dir(c.Exanet)), Machine: machine(ctx)}
	if c.Baseline != "" {
		r.Baseline = commit(ctx, c.Baseline)
	}
	if c.Middle {
		r.Form += ", medians of iterations"
	}
	load, _ := os.ReadFile("/proc/loadavg") // without it the page does not say
	r.Load, _, _ = strings.Cut(string(load), " ")
	return r
}

// measure runs the jobs of a section, in rounds: all ways of a job there and back, so that all
// see the same machine. A way that has failed once, or an MPI that takes long, is not run
// again; only the end of the context is an error.
func (c *Config) measure(ctx context.Context, r *results, s section) error {
	begun, known, most := time.Now(), len(r.Failures), 0
	jobs := s.jobs(c)
	for _, j := range jobs {
		most = max(most, c.rounds(), j.least)
	}
	for round := range most {
		for _, j := range jobs {
			if round >= max(c.rounds(), j.least) {
				continue
			}
			for _, group := range c.groups(r, j, round) {
				c.step("exanet: %s (%s): round %d of %d, %s, %s", s.title, s.name, round+1, max(c.rounds(), j.least),
					j.name, group[0])
				if err := c.sideBySide(ctx, r, j, group, round); err != nil {
					return err
				}
			}
		}
	}
	c.step("exanet: %s (%s): %s", s.title, s.name, time.Since(begun).Round(time.Second))
	if c.Terminal {
		c.say("\n")
	}
	for _, f := range r.Failures[known:] {
		c.say("exanet: %s, %s: %s\n", f.Job, f.Way, f.Why)
	}
	return nil
}

// groups are the runs of a job in a round that are compared, so those under one MPI together; between hosts all.
func (c *Config) groups(r *results, j *job, round int) (list [][]way) {
	built := c.hosts()
	for _, w := range c.ways(j) {
		switch {
		case r.failed(j.name, w) != nil || r.slow(j.name, w):
			continue
		case w.host != "" && !j.installed && !slices.Contains(built, w.host):
			r.Failures = append(r.Failures, failure{j.name, w.String(), round,
				"its MPI, or the benchmarks built with it, is not there", false})
			continue
		}
		if n := len(list); n > 0 && (list[n-1][0].host == w.host || c.Hosts != nil) {
			list[n-1] = append(list[n-1], w)
		} else {
			list = append(list, []way{w})
		}
	}
	if round%2 == 1 {
		slices.Reverse(list)
		for _, group := range list {
			slices.Reverse(group)
		}
	}
	return list
}

// veryLong is how long a run of another MPI may take to be repeated.
const veryLong = 20 * time.Second

func (r *results) slow(job string, w way) bool {
	f := r.one(column{job, runTable, runSeconds}, w, 0)
	return w.stack == alone && f != nil && slices.Min(f.Repeats) >= veryLong.Seconds()
}

// The host of a virtual machine moves its processors, near to each other or not, within
// seconds, and then a short message takes several times as long, under every MPI. Runs that are
// compared are repeated when they have not found them in the same place: when a cache line's
// trip, before, between or behind them, has taken more than moved times as long as another.
// After so many tries they count as they are, and so do all once that has taken so long altogether.
const (
	moved = 1.6
	tries = 4
	spare = 5 * time.Minute
	brief = time.Minute // in the quick form
)

// sideBySide makes the runs of a group, of a round, and adds what they have printed.
func (c *Config) sideBySide(ctx context.Context, r *results, j *job, group []way, round int) error {
	trip := c.trip
	if trip == nil {
		trip = floor.Trip
	}
	for try := 1; ; try++ {
		part := new(results)
		least, most := math.Inf(1), 0.0
		see := func() {
			if !j.near {
				return
			}
			if ns, err := trip(); err == nil { // else nothing is known of where they are
				least, most = min(least, ns), max(most, ns)
			}
		}
		begun := time.Now()
		see()
		for _, w := range group {
			if err := c.once(ctx, part, j, w, round); err != nil {
				return err
			}
			see()
		}
		if most > moved*least && try < tries && part.Failures == nil && r.repeating < choose(c, spare, brief) {
			r.Repeated++
			r.repeating += time.Since(begun)
			continue
		}
		r.take(part)
		return nil
	}
}

// once runs a job in a way and adds what it has printed.
func (c *Config) once(ctx context.Context, r *results, j *job, w way, round int) error {
	fail := func(format string, args ...any) {
		r.Failures = append(r.Failures, failure{j.name, w.String(), round, fmt.Sprintf(format, args...), false})
	}
	dir, err := j.place()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	command, err := c.command(j, w, dir)
	if err != nil {
		fail("%v", err)
		return nil
	}
	o, err := compare.Once(ctx, command)
	if ctx.Err() != nil {
		return err
	}
	whole := column{j.name, runTable, runSeconds}
	tables := compare.Tables(o.Output)
	if o.Late && j.tables > 0 && len(tables) == j.tables {
		fail("has printed its figures, but had not ended after %v", j.limit)
		r.Failures[len(r.Failures)-1].Counted = true
		o.Late, o.Code = false, 0
	}
	switch {
	case err != nil:
		fail("%v", err)
	case o.Late:
		fail("had not ended after %v", j.limit)
		if w.stack == alone { // it takes so long at least
			r.add(w.String(), whole, 0, j.limit.Seconds())
		}
	case o.Code != 0:
		fail("exits with code %d: %s", o.Code, shortened(lastLine(o.All())))
	case j.believe != nil && !j.believe(o.Output):
		fail("its own checks have not passed: %s", shortened(lastLine(o.All())))
	default:
		r.add(w.String(), whole, 0, o.Seconds)
		if j.timed {
			tables = nil // what it prints is its own affair
		} else if tables == nil {
			fail("prints no figures: %s", shortened(lastLine(o.All())))
		}
		for _, t := range tables {
			for _, row := range t.Rows {
				for i, v := range row.Values {
					if i < len(t.Columns) {
						r.add(w.String(), column{j.name, tableName(t.Title), t.Columns[i]}, row.Size, v)
					}
				}
			}
		}
	}
	return nil
}

// place makes the directory where a job runs, with its input.
func (j *job) place() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "exanet-report-"); err != nil || j.input == "" {
		return dir, err
	}
	text, err := inputs.ReadFile(path.Join("inputs", j.input))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, j.input), []byte(j.fill.Replace(string(text))), 0o666)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return dir, err
}

var ofRanks = regexp.MustCompile(`^exanet(?:'s| bench) (.*), \d+ ranks(?:, TCP alone)?$`)

// tableName is a table's title without what is the same for all.
func tableName(title string) string {
	if m := ofRanks.FindStringSubmatch(title); m != nil {
		return m[1]
	}
	return title
}

// lastLine is the last line with words in it of an output.
func lastLine(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		if strings.ContainsFunc(line, unicode.IsLetter) || last == "" {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// shortened is a line for a cell of the table.
func shortened(line string) string {
	if len(line) > 80 {
		return line[:80] + "..."
	}
	return line
}

// commit is that of the checkout that a directory is in.
func commit(ctx context.Context, dir string) string {
	id, err := exec.CommandContext(ctx, "git", "-C", dir, "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

// processors describes those of a machine, of which this process may use so many, by its /proc/cpuinfo.
func processors(cpuinfo string, usable int) string {
	model := runtime.GOARCH
	if _, rest, ok := strings.Cut(cpuinfo, "model name"); ok {
		rest, _, _ = strings.Cut(rest, "\n")
		model = strings.TrimSpace(strings.TrimLeft(rest, "\t :"))
	}
	return fmt.Sprintf("%d cores of %s", max(usable, strings.Count(cpuinfo, "processor\t")), model)
}

// machine describes this one, and what is compared with.
func machine(ctx context.Context) string {
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it the page does not say
	parts := []string{processors(string(cpuinfo), runtime.NumCPU()),
		"Linux " + strings.TrimSpace(string(kernel)), strings.Replace(runtime.Version(), "go", "Go ", 1)}
	for _, h := range hosts {
		out, err := exec.CommandContext(ctx, "mpirun."+string(h), "--version").Output()
		if err != nil {
			continue
		}
		if v := regexp.MustCompile(`\d+\.\d+(\.\d+)?`).FindString(string(out)); v != "" {
			parts = append(parts, h.String()+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

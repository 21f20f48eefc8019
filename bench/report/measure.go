package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/launch/preload"
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

// measure runs the jobs of a section, in rounds: all ways of a job there and back, so
// that all see the same machine (together.go). A way that has failed once, or takes very long, is not
// run again; only the end of the context is an error.
func (c *Config) measure(ctx context.Context, s section) (*Results, error) {
	begun := time.Now()
	r := &Results{Section: s.name, Form: c.form(), Rounds: c.rounds(), When: begun.UTC().Format("2006-01-02 15:04"), Machine: machine(ctx), Load: load1()}
	jobs := s.jobs(c)
	for _, j := range jobs {
		j.ways = c.present(r, j)
	}
	most := c.rounds()
	for _, j := range jobs {
		most = max(most, j.least)
	}
	for round := range most {
		for _, g := range c.groups(r, jobs, round) {
			if err := c.together(ctx, s, r, g, round); err != nil {
				return nil, err
			}
		}
	}
	r.Took = time.Since(begun).Round(time.Second).String()
	c.step("exanet: %s (%s): %s", s.title, s.name, r.Took)
	if c.Terminal {
		c.say("\n")
	}
	for _, f := range r.Failures {
		c.say("exanet: %s, %s: %s\n", f.Job, f.Way, f.Why)
	}
	return r, nil
}

// run is a run of a round.
type run struct {
	job *job
	way string
}

// groups are the runs of a round: those that are compared are one.
func (c *Config) groups(r *Results, jobs []*job, round int) (list [][]run) {
	index := map[string]int{}
	for _, j := range jobs {
		if round >= max(c.rounds(), j.least) {
			continue
		}
		for n := range j.ways {
			way := j.ways[n]
			if round%2 == 1 {
				way = j.ways[len(j.ways)-1-n]
			}
			if r.failed(j.name, way) || r.slow(j.name, way) {
				continue
			}
			key := j.beside
			if host, _ := hostOf(way); !j.across {
				key += ", " + string(host)
			}
			i, ok := index[key]
			if !ok || j.beside == "" {
				i, list = len(list), append(list, nil)
				index[key] = i
			}
			list[i] = append(list[i], run{j, way})
		}
	}
	return list
}

// present leaves out the ways whose MPI is not there.
func (c *Config) present(r *Results, j *job) []string {
	hosts := c.hosts()
	return slices.DeleteFunc(slices.Clone(j.ways), func(way string) bool {
		host, _ := hostOf(way)
		absent := host != "" && !slices.Contains(hosts, host)
		if absent {
			r.Failures = append(r.Failures, Failure{j.name, way, 0, "its MPI, or the benchmarks built with it, is not there"})
		}
		return absent
	})
}

func (r *Results) failed(job, way string) bool {
	return slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Job == job && f.Way == way })
}

// veryLong is how long a run of another MPI may take to be repeated.
const veryLong = time.Minute

func (r *Results) slow(job, way string) bool {
	_, ours := hostOf(way)
	return !ours && slices.ContainsFunc(r.Figures, func(f Figure) bool {
		return f.Job == job && f.Way == way && f.Column == runSeconds && f.median() > veryLong.Seconds()
	})
}

// once runs a job in a way and adds what it has printed.
func (c *Config) once(ctx context.Context, r *Results, j *job, way string, round int) error {
	fail := func(format string, args ...any) {
		r.Failures = append(r.Failures, Failure{j.name, way, round, fmt.Sprintf(format, args...)})
	}
	command, err := c.command(j, way)
	if err != nil {
		fail("%v", err)
		return nil
	}
	o, err := compare.Once(ctx, command)
	if ctx.Err() != nil {
		return err
	}
	var tables []compare.Printed
	switch {
	case err != nil:
		fail("%v", err)
		return nil
	case o.Late:
		r.add(j.name, way, runTable, runCutAfter, 0, j.limit.Seconds())
		fail("had not ended after %v", j.limit)
		return nil
	case o.Code != 0:
		fail("exits with code %d: %s", o.Code, lastLine(o.All()))
		return nil
	case j.parse != nil:
		if tables, err = j.parse(o.Output); err != nil {
			fail("%v", err)
			return nil
		}
	default:
		if tables = compare.Tables(o.Output); tables == nil {
			fail("prints no figures: %s", lastLine(o.All()))
			return nil
		}
	}
	r.add(j.name, way, runTable, runSeconds, 0, o.Seconds)
	for _, t := range tables {
		for _, row := range t.Rows {
			for i, v := range row.Values {
				column := ""
				if i < len(t.Columns) {
					column = t.Columns[i]
				}
				r.add(j.name, way, tableName(t.Title), column, row.Size, v)
			}
		}
	}
	return nil
}

var ofRanks = regexp.MustCompile(`^exanet's (.*), \d+ ranks$`)

// tableName is a table's title without what is the same for all.
func tableName(title string) string {
	if m := ofRanks.FindStringSubmatch(title); m != nil {
		return m[1]
	}
	return title
}

// lastLine is the last that an output says, shortened.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > 160 {
		last = last[:160] + "..."
	}
	return last
}

// machine describes this one, and what is compared with.
func machine(ctx context.Context) string {
	model := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			rest, _, _ = strings.Cut(rest, "\n")
			model = strings.TrimSpace(strings.TrimLeft(rest, "\t :"))
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it the page does not say
	parts := []string{fmt.Sprintf("%d cores, %s", runtime.NumCPU(), model), "Linux " + strings.TrimSpace(string(kernel)), strings.Replace(runtime.Version(), "go", "Go ", 1)}
	for _, h := range []preload.MPI{preload.MPICH, preload.OpenMPI} {
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

// load1 is the load of the machine over the last minute.
func load1() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

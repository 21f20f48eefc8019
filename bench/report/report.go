// Package report compares this MPI with those that are installed, and with another build of
// itself, row by row of a table of bounds, and writes a page with the table and plots.
//
//	plan.go     what is run: sections of jobs; inputs/ has the applications' input
//	between.go  the same for ranks of different hosts, and whether these can be reached
//	ways.go     the ways in which a job is run: under each MPI alone, preloaded, with the baseline
//	measure.go  the runs, in turn, with a limit for each
//	results.go  the figures of one run of everything, as they are stored
//	points.go   ratios of figures, their spread, and whether they are within a bound
//	rows.go     the rows of the table, with their bounds
//	page.go     the page; plots.go: the plots
//
// All figures of a page are of one run, and so of one build.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/internal/atomicfile"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// Config says what to measure, and where everything is.
type Config struct {
	Exanet   string   // the command line, for programs in Go
	Dirs     []string // where the preload library may be
	Programs string   // directory of osu-mpich, osu-openmpi, kernels-mpich, kernels-openmpi and cg
	Baseline string   // directory of another build's preload libraries, exanet and cg; "": none
	Env      []string

	Out     string   // the page is Out.md, the plots are in the directory Out
	Results string   // the file of all figures; "": Out.jsonl
	With    []string // files of figures under newer MPIs, for the page Out-newer.md
	Quick   bool     // fewer sizes, rounds and ranks
	Rounds  int      // runs each way; 0: 5, or 3 if quick
	Middle  bool     // medians over the iterations of a run, too, where OSU has means
	Only    []string // sections to measure; nil: all

	Hosts []string // measure between these, HostsWanted of them; nil: on this host
	Shell string   // the remote shell for them, which is given a host and a command

	Progress io.Writer // a line for each run; on a terminal they replace each other
	Terminal bool

	trip func() (float64, error) // where the processors are; nil: floor.Trip
}

func (c *Config) rounds() int {
	switch {
	case c.Rounds > 0:
		return c.Rounds
	case c.Quick:
		return 3
	}
	return 5
}

// CheckBaseline returns an error if the baseline is not there, or lacks a library for an MPI that there is a benchmark
// program for.
func (c *Config) CheckBaseline() error {
	wanted := []string{c.Baseline}
	for _, h := range c.hosts() {
		wanted = append(wanted, filepath.Join(c.Baseline, preload.LibraryName(h)))
	}
	for _, name := range wanted {
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("%w: name the directory of another build's libraries, which make preload builds", err)
		}
	}
	return nil
}

// choose chooses by the form of the report.
func choose[T any](c *Config, full, quick T) T {
	if c.Quick {
		return quick
	}
	return full
}

// file is where the figures are.
func (c *Config) file() string {
	if c.Results != "" {
		return c.Results
	}
	return c.Out + ".jsonl"
}

// sections are what is measured.
func (c *Config) sections() []section {
	if c.Hosts != nil {
		return sectionsBetween
	}
	return sections
}

// Sections returns the names and titles of what can be measured alone.
func (c *Config) Sections() (names, titles []string) {
	for _, s := range c.sections() {
		names, titles = append(names, s.name), append(titles, s.title)
	}
	return names, titles
}

// ErrNothing is the error of a report without figures.
var ErrNothing = errors.New("there are no figures")

// Run measures the sections and writes the page. What has been measured is stored after each
// section. If no run at all has printed figures the error wraps ErrNothing.
func Run(ctx context.Context, c *Config) error {
	if len(c.hosts()) == 0 {
		return fmt.Errorf("there is no osu-mpich and no osu-openmpi in %s: make bench-programs builds them", c.Programs)
	}
	for _, name := range []string{c.file(), c.Out} {
		unmake, err := makeFolder(filepath.Dir(name))
		defer unmake()
		if err != nil {
			return err
		}
	}
	network := ""
	if c.Hosts != nil {
		var err error
		if network, err = c.tryHosts(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	r := c.begin(ctx)
	r.Network = network
	for _, s := range c.sections() {
		if c.Only != nil && !slices.Contains(c.Only, s.name) {
			continue
		}
		if err := c.measure(ctx, r, s); err != nil {
			return err
		}
		r.Took = time.Since(begun).Round(time.Second).String()
		if err := r.save(c.file()); err != nil {
			return err
		}
	}
	if err := Render(c); err != nil {
		return err
	}
	if r.figures == nil {
		return fmt.Errorf("%w: %s.md says why", ErrNothing, c.Out)
	}
	c.say("exanet: all measured in %s; %s.md has it\n", r.Took, c.Out)
	return nil
}

// makeFolder makes a folder, and those above it. What unmake finds empty of these it removes.
func makeFolder(path string) (unmake func(), err error) {
	var missing []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	return func() {
		for _, at := range missing {
			_ = os.Remove(at) // which it refuses if there is something in it
		}
	}, os.MkdirAll(path, 0o777)
}

// Render makes the page from the figures that are stored. If there are none the error wraps ErrNothing.
func Render(c *Config) error {
	r, err := load(c.file())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s is not there", ErrNothing, c.file())
	} else if err != nil {
		return err
	}
	if c.With != nil {
		if err := c.renderNewer(); err != nil {
			return err
		}
	}
	drawn, err := r.plots()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return err
	}
	for name, svg := range drawn {
		if err := atomicfile.WriteFile(filepath.Join(c.Out, name), svg); err != nil {
			return err
		}
	}
	path := c.Out + ".md"
	old, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		old = []byte(r.heading())
	} else if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, []byte(insert(string(old), r.page(filepath.Base(c.Out), drawn))))
}

const (
	beginMark = "<!-- exanet bench report: everything up to the end mark is its work -->"
	endMark   = "<!-- end of exanet bench report -->"
)

// insert puts the report into a page: between the marks, or at its end.
func insert(page, report string) string {
	report = beginMark + "\n\n" + strings.TrimSpace(report) + "\n\n" + endMark
	before, rest, found := strings.Cut(page, beginMark)
	if !found {
		if page != "" {
			page = strings.TrimRight(page, "\n") + "\n\n"
		}
		return page + report + "\n"
	}
	_, after, _ := strings.Cut(rest, endMark)
	return before + report + after
}

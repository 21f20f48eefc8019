// Package report compares this MPI with those that are installed, row by row of a table
// of bounds, and writes a page with the table, what was measured, and plots.
//
//	plan.go      what is run: sections of jobs, each in several ways
//	commands.go  how a job is started under MPICH and Open MPI, alone and preloaded
//	measure.go   the runs, in turn, with a limit for each
//	together.go  those that are compared find the processors in the same place
//	results.go   the figures of a section, as they are stored
//	verdict.go   the bounds, and whether they are kept; bounds.go has them all
//	plots.go     the plots
//	page.go      the page
//
// The figures of each section are stored as soon as it has ended, so a section can be
// measured again alone, and the page made again without measuring.
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
	Exanet   string   // the command line, for what is measured without C
	Dirs     []string // where the preload library may be
	Programs string   // directory of the benchmarks, osu-mpich, osu-openmpi and cg
	Env      []string

	Out    string   // the page is Out.md, plots and figures are in the directory Out
	Quick  bool     // fewer sizes, rounds and ranks
	Rounds int      // runs each way; 0: 5, or 3 if quick
	Middle bool     // medians over the iterations of a run, too, where OSU has means
	Only   []string // sections to measure; nil: all

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

// form is what the page calls this way of measuring.
func (c *Config) form() string {
	form := "full"
	if c.Quick {
		form = "quick"
	}
	if c.Middle {
		form += ", medians of iterations"
	}
	return form
}

// hosts are the MPIs that there is a benchmark program for.
func (c *Config) hosts() (list []preload.MPI) {
	for _, h := range []preload.MPI{preload.MPICH, preload.OpenMPI} {
		if _, err := os.Stat(c.program(h)); err == nil {
			list = append(list, h)
		}
	}
	return list
}

// Sections returns the names and titles of what can be measured alone.
func Sections() (names, titles []string) {
	for _, s := range sections {
		names, titles = append(names, s.name), append(titles, s.title)
	}
	return names, titles
}

// ErrNothing is the error of a report without figures.
var ErrNothing = errors.New("nothing could be measured")

// Run measures the sections and writes the page after each. If no run at all has printed figures the error wraps ErrNothing.
func Run(ctx context.Context, c *Config) error {
	if len(c.hosts()) == 0 {
		return fmt.Errorf("there is no osu-mpich and no osu-openmpi in %s: make bench-programs builds them", c.Programs)
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return err
	}
	begun := time.Now()
	measured := false
	for _, s := range sections {
		if c.Only != nil && !slices.Contains(c.Only, s.name) {
			continue
		}
		r, err := c.measure(ctx, s)
		if err != nil {
			return err
		}
		if err := r.save(c.Out); err != nil {
			return err
		}
		measured = measured || r.Figures != nil
		if err := Render(c.Out); err != nil {
			return err
		}
	}
	if !measured {
		return fmt.Errorf("%s.md says why there are no figures: %w", c.Out, ErrNothing)
	}
	c.say("exanet: all measured in %s; %s.md has it\n", time.Since(begun).Round(time.Second), c.Out)
	return nil
}

// Render makes the page from the figures that are stored. If there are none the error wraps ErrNothing.
func Render(out string) error {
	set, err := load(out)
	if err != nil {
		return err
	}
	if len(set) == 0 {
		return fmt.Errorf("%s has no figures of a report: %w", out, ErrNothing)
	}
	plots, err := set.plots()
	if err != nil {
		return err
	}
	for name, svg := range plots {
		if err := atomicfile.WriteFile(filepath.Join(out, name), svg); err != nil {
			return err
		}
	}
	path := out + ".md"
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return atomicfile.WriteFile(path, []byte(insert(string(old), set.page(filepath.Base(out)))))
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

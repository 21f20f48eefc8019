// Package reproduce runs the thesis's evaluation (chapter 4, and what chapter 3 measures) on the
// simulated prototype, and holds what comes out against what the text says, claim by claim. It does the
// same with the evaluation of Small and Yuan (ICS 2009), who had another machine.
//
//	claims.csv      what the text says, row by row (claims.go reads it); small-yuan.csv
//	expectation.go  how a row's number is meant, and the rule by which a row agrees
//	rows.go         which figures each row compares; exact.go: rows about control messages
//	lab.go          simulations, each made once; benches.go and codes.go: what is simulated
//	fit.go          constants of the fabric fitted to the rows of kind calibration, and to no others
//	figures.go      the thesis's figures from simulated data; beyond.go: what the thesis could not run
//	page.go         the report
//	customized.go   Small and Yuan's rows; progress.go what is simulated for them; customized_page.go their page
//
// Nothing here measures time: two runs give the same bytes.
package reproduce

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
	"github.com/exanet-mpi/exanet/internal/plots"
)

// Config says what to do.
type Config struct {
	Out      string // directory of what is written
	Paper    string // Thesis or SmallYuan; empty: both
	Quick    bool   // fewer sizes and iterations
	Progress func(done, total int, doing string)
}

// Verdict is whether a row agrees.
type Verdict string

// The verdicts.
const (
	Agrees    Verdict = "agrees"
	Disagrees Verdict = "disagrees"
	Unscored  Verdict = "not scored"
)

// Outcome is a row with what was simulated.
type Outcome struct {
	Claim
	Simulated string
	Verdict   Verdict
	How       string // what was run, where the claim leaves it open
	Why       string // it disagrees

	points []point // in percent
}

// task is a part of the whole, for the progress.
type task struct {
	name string
	do   func() error
}

// ErrFolder is the error of Run if there can be no files in the folder that it is to write to.
var ErrFolder = errors.New("this is no folder that can be written")

// writable makes a folder, and finds out before the simulations whether it takes files.
func writable(folder string) error {
	err := os.MkdirAll(folder, 0o777)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	f, err := os.CreateTemp(folder, ".writable")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// part is what is made of a paper: pages, by file name, once its simulations are made.
type part struct {
	tasks []task
	pages func(outcomes []Outcome) (map[string][]byte, error)
}

// Run makes all simulations and writes claims.csv, and of the papers report.html with overview.svg, and
// small-yuan.html.
func Run(ctx context.Context, cfg Config) error {
	if err := writable(cfg.Out); err != nil {
		return err
	}
	l := newLab(sim.DefaultCosts(), cfg.Quick)
	claims, err := Claims(cfg.Paper)
	if err != nil {
		return err
	}
	outcomes := make([]Outcome, len(claims))
	var tasks []task
	for i := range claims {
		tasks = append(tasks, task{claims[i].ID, func() (err error) {
			outcomes[i], err = l.outcome(&claims[i])
			return err
		}})
	}
	var parts []part
	if cfg.Paper != SmallYuan {
		parts = append(parts, l.thesis(ctx))
	}
	if cfg.Paper != Thesis {
		parts = append(parts, l.customized())
	}
	for _, p := range parts {
		tasks = append(tasks, p.tasks...)
	}
	if err := perform(ctx, tasks, cfg.Progress); err != nil {
		return err
	}
	var table bytes.Buffer
	if err := writeClaims(&table, outcomes); err != nil {
		return err
	}
	files := map[string][]byte{"claims.csv": table.Bytes()}
	for _, p := range parts {
		pages, err := p.pages(outcomes)
		if err != nil {
			return err
		}
		maps.Copy(files, pages)
	}
	for name, text := range files {
		err = errors.Join(err, atomicfile.WriteFile(filepath.Join(cfg.Out, name), text))
	}
	return err
}

// thesis is what is made of the thesis besides its claims.
func (l *lab) thesis(ctx context.Context) part {
	var fit *Fit
	tasks := []task{{"fit", func() (err error) {
		fit, err = FitConstants(ctx, l.costs)
		return err
	}}}
	far := new(reading)
	tasks = append(tasks, task{"five hops", func() (err error) {
		u := pair("latency", hops5)
		u.variant, u.size = readbased, eagerBytes
		*far, err = l.measure(u)
		return err
	}})
	drawn, more := l.figureTasks()
	tasks = append(tasks, more...)
	b, more := l.beyondTasks()
	return part{append(tasks, more...), func(outcomes []Outcome) (map[string][]byte, error) {
		outcomes = of(Thesis, outcomes)
		overview, err := drawOverview(outcomes)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		report := &page{lab: l, outcomes: outcomes, plots: drawn, beyond: b, far: far.value, fit: fit,
			overview: plots.Inline(overview)}
		err = report.write(&text)
		return map[string][]byte{"overview.svg": overview, "report.html": text.Bytes()}, err
	}}
}

// of are the outcomes of a paper.
func of(name string, outcomes []Outcome) []Outcome {
	return matching(outcomes, func(o Outcome) bool { return o.paper.name == name })
}

// perform does all tasks, as many at a time as there are processors.
func perform(ctx context.Context, tasks []task, progress func(done, total int, doing string)) error {
	var mu sync.Mutex
	var errs []error
	next, done := 0, 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				if next == len(tasks) || errs != nil || ctx.Err() != nil {
					mu.Unlock()
					return
				}
				t := tasks[next]
				next++
				if progress != nil {
					progress(done, len(tasks), t.name)
				}
				mu.Unlock()
				err := t.do()
				mu.Lock()
				done++
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if progress != nil {
		progress(done, len(tasks), "")
	}
	if err := context.Cause(ctx); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// outcome works a row out.
func (l *lab) outcome(c *Claim) (Outcome, error) {
	s := &sheet{lab: l}
	o := Outcome{Claim: *c, Verdict: Unscored, Simulated: "-"}
	r, simulated := c.paper.rows[c.ID]
	o.How = r.how
	agrees := false
	switch {
	case c.Kind == NotScored:
		o.Why = c.paper.discussed[c.ID]
		return o, nil
	case c.paper.notBuilt[c.ID] != "":
		o.Simulated, o.Why = "not built", c.paper.notBuilt[c.ID]
	case c.Kind == Exact:
		agrees, o.Simulated = s.exact(c)
	case simulated:
		e, err := c.expectation()
		if err != nil {
			return o, err
		}
		groups := r.groups(s)
		if s.err != nil {
			return o, s.err
		}
		agrees, o.Simulated = e.agrees(groups, r.share)
		if strings.HasPrefix(c.Unit, "percent") {
			o.points = e.points(groups)
		}
	default:
		return o, fmt.Errorf("nobody knows how to simulate %s", c.ID)
	}
	o.Verdict = Disagrees
	if agrees {
		o.Verdict = Agrees
	} else if o.Why == "" {
		if o.Why = c.paper.reasons[c.ID]; o.Why == "" {
			o.Why = unexplained
		}
	}
	return o, s.err
}

func writeClaims(w io.Writer, outcomes []Outcome) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"id", "kind", "expected", "simulated", "verdict"}}
	for _, o := range outcomes {
		rows = append(rows, []string{o.ID, string(o.Kind), o.Expected, o.Simulated, string(o.Verdict)})
	}
	return out.WriteAll(rows)
}

// list joins names of rows.
func list(ids []string) string { return strings.Join(ids, ", ") }

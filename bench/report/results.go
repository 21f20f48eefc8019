package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
)

// Figure is one that a job has printed, in all rounds.
type Figure struct {
	Job     string    `json:"job"`
	Way     string    `json:"way"`
	Table   string    `json:"table"`
	Column  string    `json:"column"`
	Size    int       `json:"size"`
	Repeats []float64 `json:"repeats"`
}

func (f *Figure) median() float64 { return bench.Median(f.Repeats) }

// Failure is a run without figures.
type Failure struct {
	Job   string `json:"job"`
	Way   string `json:"way"`
	Round int    `json:"round"`
	Why   string `json:"why"`
}

// Results are those of a section.
type Results struct {
	Section  string    `json:"section"`
	Form     string    `json:"form"`
	Rounds   int       `json:"rounds"`
	When     string    `json:"when"`
	Machine  string    `json:"machine"`
	Load     string    `json:"load"` // of the machine when it began
	Took     string    `json:"took"`
	Repeated int       `json:"repeated,omitempty"` // groups of runs, since the processors have been moved meanwhile
	Moved    int       `json:"moved,omitempty"`    // of which the last try counts for all that
	Failures []Failure `json:"failures,omitempty"`

	Figures []Figure `json:"-"`
}

// The whole run, in the results of each job.
const (
	runTable    = "run"
	runSeconds  = "Seconds"
	runCutAfter = "Ended after (s)" // it had not ended by itself
	runTrip     = "Cache line (ns)" // its trip before the run, see together
)

// add appends a value of a round.
func (r *Results) add(job, way, table, column string, size int, value float64) {
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Job == job && f.Way == way && f.Table == table && f.Column == column && f.Size == size {
			f.Repeats = append(f.Repeats, value)
			return
		}
	}
	r.Figures = append(r.Figures, Figure{job, way, table, column, size, []float64{value}})
}

// take adds the figures and failures of a part.
func (r *Results) take(part *Results) {
	for _, f := range part.Figures {
		for _, v := range f.Repeats {
			r.add(f.Job, f.Way, f.Table, f.Column, f.Size, v)
		}
	}
	r.Failures = append(r.Failures, part.Failures...)
}

// save stores the results: a line of JSON about all, and one for each figure.
func (r *Results) save(dir string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := e.Encode(r); err != nil {
		return err
	}
	for i := range r.Figures {
		if err := e.Encode(&r.Figures[i]); err != nil {
			return fmt.Errorf("%s, %s: %w", r.Figures[i].Table, r.Figures[i].Way, err)
		}
	}
	return atomicfile.WriteFile(filepath.Join(dir, r.Section+suffix), b.Bytes())
}

const suffix = ".jsonl"

// read is the reverse of save.
func read(dir, section string) (*Results, error) {
	f, err := os.Open(filepath.Join(dir, section+suffix))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, r := json.NewDecoder(f), new(Results)
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for {
		var figure Figure
		if err := d.Decode(&figure); err == io.EOF {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		r.Figures = append(r.Figures, figure)
	}
}

// Set is the results of sections by name.
type Set map[string]*Results

// load reads what is stored of all sections.
func load(dir string) (Set, error) {
	set := Set{}
	for _, s := range sections {
		r, err := read(dir, s.name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		set[s.name] = r
	}
	return set, nil
}

// all returns the figures of a column, by size.
func (s Set) all(section, job, way, table, column string) (list []*Figure) {
	r := s[section]
	if r == nil {
		return nil
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Job == job && f.Way == way && f.Table == table && f.Column == column {
			list = append(list, f)
		}
	}
	return list
}

// one returns the figure of a size, nil if there is none.
func (s Set) one(section, job, way, table, column string, size int) *Figure {
	for _, f := range s.all(section, job, way, table, column) {
		if f.Size == size {
			return f
		}
	}
	return nil
}

// why says why a job has no figures in a way.
func (s Set) why(section, job, way string) string {
	r := s[section]
	if r == nil {
		return "not measured"
	}
	for _, f := range r.Failures {
		if f.Job == job && f.Way == way {
			return fmt.Sprintf("%s: %s", way, f.Why)
		}
	}
	return way + " is not here"
}

// ratio is a to b: the median over the rounds in which both were measured, one after
// the other, or that of the medians if runs of one have failed.
func ratio(a, b *Figure) float64 {
	if len(a.Repeats) != len(b.Repeats) {
		return a.median() / b.median()
	}
	q := make([]float64, len(a.Repeats))
	for i := range q {
		q[i] = a.Repeats[i] / b.Repeats[i]
	}
	return bench.Median(q)
}

// geometricMean of positive numbers.
func geometricMean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}

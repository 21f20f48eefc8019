package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
)

// column says where figures are.
type column struct {
	Job    string `json:"job"`
	Table  string `json:"table"`
	Column string `json:"column"`
}

// figure is one that a job has printed, in all rounds.
type figure struct {
	Way string `json:"way"`
	column
	Size    int       `json:"size"`
	Repeats []float64 `json:"repeats"`
}

func (f *figure) median() float64 { return bench.Median(f.Repeats) }

// failure is a run without figures, or one that has not ended.
type failure struct {
	Job     string `json:"job"`
	Way     string `json:"way"`
	Round   int    `json:"round"`
	Why     string `json:"why"`
	Counted bool   `json:"counted,omitempty"` // it has figures; only the first of a way is kept
}

// results are those of one run of the report.
type results struct {
	Form     string    `json:"form"`
	Rounds   int       `json:"rounds"`
	When     string    `json:"when"`
	Commit   string    `json:"commit"`
	Machine  string    `json:"machine"`
	Baseline string    `json:"baseline,omitempty"` // its commit
	Load     string    `json:"load"`               // of the machine when it began
	Took     string    `json:"took"`
	Network  string    `json:"network,omitempty"` // the hosts between which was measured; "": there is one
	Repeated int       `json:"repeated"`          // runs that were made again: the processors had been moved meanwhile
	Failures []failure `json:"failures,omitempty"`

	figures   []figure
	repeating time.Duration // what that has taken
}

// The figure of a job that is timed.
const (
	runTable   = "run"
	runSeconds = "Seconds (s)"
)

// add appends a value of a round.
func (r *results) add(w string, c column, size int, value float64) {
	for i := range r.figures {
		if f := &r.figures[i]; f.Way == w && f.column == c && f.Size == size {
			f.Repeats = append(f.Repeats, value)
			return
		}
	}
	r.figures = append(r.figures, figure{w, c, size, []float64{value}})
}

// take adds the figures and failures of a part.
func (r *results) take(part *results) {
	for _, f := range part.figures {
		for _, v := range f.Repeats {
			r.add(f.Way, f.column, f.Size, v)
		}
	}
	for _, f := range part.Failures {
		if !slices.ContainsFunc(r.Failures, func(known failure) bool {
			return f.Counted && known.Counted && f.Job == known.Job && f.Way == known.Way
		}) {
			r.Failures = append(r.Failures, f)
		}
	}
}

// save stores the results: a line of JSON about all, and one for each figure.
func (r *results) save(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	err := e.Encode(r)
	for i := range r.figures {
		err = errors.Join(err, e.Encode(&r.figures[i]))
	}
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(file, b.Bytes())
}

// load is the reverse of save.
func load(file string) (*results, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, r := json.NewDecoder(f), new(results)
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s is no file of figures: %w", file, err)
	}
	for {
		var one figure
		if err := d.Decode(&one); err == io.EOF {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s is no file of figures: %w", file, err)
		}
		r.figures = append(r.figures, one)
	}
}

// series returns the figures of a column, in the order of their sizes.
func (r *results) series(c column, w way) (list []*figure) {
	for i := range r.figures {
		if f := &r.figures[i]; f.column == c && f.Way == w.String() {
			list = append(list, f)
		}
	}
	return list
}

// one returns the figure of a size, nil if there is none.
func (r *results) one(c column, w way, size int) *figure {
	for _, f := range r.series(c, w) {
		if f.Size == size {
			return f
		}
	}
	return nil
}

// failed returns the run without figures of a job in a way, nil if there is none.
func (r *results) failed(job string, w way) *failure {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Job == job && f.Way == w.String() && !f.Counted {
			return f
		}
	}
	return nil
}

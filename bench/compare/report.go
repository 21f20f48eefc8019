package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/bench"
)

// Report is the comparison, in the form of --json.
type Report struct {
	Command string  `json:"command"`
	Rounds  int     `json:"rounds"`
	Wall    []Wall  `json:"wall"`
	Ratio   float64 `json:"ratio"` // of the wall times, second way to first: of the medians
	Tables  []Table `json:"tables,omitempty"`

	// What the second way does otherwise, as a line for the user.
	Codes   string `json:"exit_codes_differ,omitempty"`
	Outputs string `json:"outputs_differ,omitempty"`
}

// Wall is how long the runs of a way took, in seconds.
type Wall struct {
	Name    string    `json:"name"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Repeats []float64 `json:"repeats"`
}

// Table is one column of figures in the output: a series for each way, and their ratio.
type Table struct {
	Title   string         `json:"title"`
	Values  string         `json:"values"`
	Columns []bench.Column `json:"columns"`
}

// NewReport compares the outcomes of Run.
func NewReport(command string, ways [2]Way, outcomes [2][]Outcome) *Report {
	r := &Report{Command: command, Rounds: len(outcomes[0]), Codes: codes(ways, outcomes),
		Outputs: outputs(ways, outcomes)}
	wall := [2]bench.Column{}
	for i, list := range outcomes {
		var s []float64
		for _, o := range list {
			s = append(s, o.Seconds)
		}
		r.Wall = append(r.Wall, Wall{ways[i].Name, bench.Median(s), slices.Min(s), slices.Max(s), s})
		wall[i] = bench.Column{Name: ways[i].Name, Rows: []bench.Row{{Value: bench.Median(s), Repeats: s}}}
	}
	r.Ratio = bench.Ratios(ways[0].Name, wall[:])[1].Rows[0].Value
	r.Tables = compareTables(ways, outcomes)
	return r
}

// compareTables puts the figures of the outputs side by side, if all runs have
// printed the same tables.
func compareTables(ways [2]Way, outcomes [2][]Outcome) (list []Table) {
	first := Tables(outcomes[0][0].Output)
	var all [2][][]Printed // by way and round
	for i := range outcomes {
		for _, o := range outcomes[i] {
			t := Tables(o.Output)
			if !alike(first, t) {
				return nil
			}
			all[i] = append(all[i], t)
		}
	}
	for at, t := range first {
		for value := range t.Rows[0].Values {
			columns := make([]bench.Column, 2)
			for i := range columns {
				columns[i].Name = ways[i].Name
				for n, r := range t.Rows {
					out := bench.Row{Size: r.Size}
					for _, round := range all[i] {
						out.Repeats = append(out.Repeats, round[at].Rows[n].Values[value])
					}
					out.Value = bench.Median(out.Repeats)
					columns[i].Rows = append(columns[i].Rows, out)
				}
			}
			ratio := bench.Ratios(ways[0].Name, columns)[1]
			ratio.Name = "ratio"
			name := ""
			if value < len(t.Columns) {
				name = t.Columns[value]
			}
			list = append(list, Table{t.Title, name, append(columns, ratio)})
		}
	}
	return list
}

// Write prints a report in the manner of the OSU benchmarks.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, medians of %d runs each way\n%-10s%18s%18s%18s\n", r.Command, r.Rounds, "# Wall (s)",
		"median", "min", "max")
	for _, l := range r.Wall {
		fmt.Fprintf(&b, "%-10s%18.3f%18.3f%18.3f\n", l.Name, l.Median, l.Min, l.Max)
	}
	fmt.Fprintf(&b, "%-10s%18.3f\n", "ratio", r.Ratio)
	for _, t := range r.Tables {
		b.WriteByte('\n')
		if err := bench.WriteColumns(&b, t.Title, t.Values, t.Columns); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

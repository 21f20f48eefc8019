package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Titles of the value column, as the OSU programs print them.
const (
	MicrosecondsTitle = "Latency (us)"
	BandwidthTitle    = "Bandwidth (MB/s)"
)

// WriteOSU prints rows as the OSU programs do, so that what reads their output
// reads this: comment lines, the size in 10 columns and the value in 18.
func WriteOSU(w io.Writer, title, column string, rows []Row) error {
	_, err := fmt.Fprintf(w, "# %s\n%-10s%18s\n", title, "# Size", column)
	for _, r := range rows {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-10d%18.2f\n", r.Size, r.Value)
		}
	}
	return err
}

// WriteOSUColumns prints several values of each size as the OSU programs do, with a
// digit more.
func WriteOSUColumns(w io.Writer, title string, columns []Column) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	writeSizes(&b, columns, 3)
	_, err := io.WriteString(w, b.String())
	return err
}

// Column is one of several series of the same sizes.
type Column struct {
	Name string `json:"variant"`
	Rows []Row  `json:"rows"`
}

// Add adds a sweep over the same sizes to a series: its figures are the medians of all.
func (c *Column) Add(sweep []Row) {
	if c.Rows == nil {
		c.Rows = slices.Clone(sweep)
	} else {
		for i, r := range sweep {
			c.Rows[i].Repeats = append(c.Rows[i].Repeats, r.Repeats...)
		}
	}
	for i := range c.Rows {
		c.Rows[i].Value = Median(c.Rows[i].Repeats)
	}
}

// WriteColumns prints several series side by side: a comment line that says
// what the values are, one with the names of the columns, and a line a size.
// The columns are as wide as those of WriteOSU.
func WriteColumns(w io.Writer, title, values string, columns []Column) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	writeColumns(&b, values, columns)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeColumns(b *strings.Builder, values string, columns []Column) {
	fmt.Fprintf(b, "# %s\n", values)
	writeSizes(b, columns, 2)
}

// writeSizes prints the names of columns and a line for each size, with so many digits
// behind the point.
func writeSizes(b *strings.Builder, columns []Column, digits int) {
	fmt.Fprintf(b, "%-10s", "# Size")
	for _, c := range columns {
		fmt.Fprintf(b, "%18s", c.Name)
	}
	b.WriteByte('\n')
	for i, r := range columns[0].Rows {
		fmt.Fprintf(b, "%-10d", r.Size)
		for _, c := range columns {
			fmt.Fprintf(b, "%18.*f", digits, c.Rows[i].Value)
		}
		b.WriteByte('\n')
	}
}

// WriteRatios prints the Ratios of several series. It prints nothing if none is
// named base, or if there is no other.
func WriteRatios(w io.Writer, base string, columns []Column) error {
	ratios := Ratios(base, columns)
	if len(ratios) < 2 {
		return nil
	}
	var b strings.Builder
	writeColumns(&b, "as a multiple of "+base+"'s", ratios)
	_, err := io.WriteString(w, b.String())
	return err
}

// Ratios returns by how much the values of several series exceed those of the one
// named base: for each size the ratio of the values; its repeats are the ratios of those
// that were measured in the same round. What is 0 has no ratio but 0. It returns nothing
// if there is no such series.
func Ratios(base string, columns []Column) []Column {
	at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == base })
	if at < 0 {
		return nil
	}
	ratios := make([]Column, len(columns))
	for i, c := range columns {
		ratios[i] = Column{Name: c.Name, Rows: make([]Row, len(c.Rows))}
		for j, r := range c.Rows {
			base := columns[at].Rows[j]
			q := Row{Size: r.Size, Value: ratio(r.Value, base.Value)}
			for k, v := range r.Repeats {
				q.Repeats = append(q.Repeats, ratio(v, base.Repeats[k]))
			}
			ratios[i].Rows[j] = q
		}
	}
	return ratios
}

func ratio(v, base float64) float64 {
	if base == 0 {
		return 0
	}
	return v / base
}

// WriteOSUBarrier prints a barrier's time as osu_barrier does.
func WriteOSUBarrier(w io.Writer, title string, row Row) error {
	_, err := fmt.Fprintf(w, "# %s\n# Avg Latency(us)\n%17.2f\n", title, row.Value)
	return err
}

// WriteIdle prints the lines of Idle in the same manner.
func WriteIdle(w io.Writer, title string, lines []Blocked) error {
	_, err := fmt.Fprintf(w, "# %s\n%-10s%18s%18s%18s\n", title, "# Call", "Wall (ms)", "CPU (ms)", "CPU (%)")
	for _, b := range lines {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-10s%18.2f%18.2f%18.3f\n", b.Call, b.Wall, b.CPU, b.Share())
		}
	}
	return err
}

package compare

import (
	"regexp"
	"strconv"
	"strings"
)

// Printed is a table that a program prints as the OSU benchmarks do: comment lines, of
// which the last names the columns, and lines of numbers, of which the first is a size
// if there are several and it is whole.
type Printed struct {
	Title   string
	Columns []string // the names of the values; may be fewer than there are
	Rows    []PrintedRow
}

// PrintedRow is a line of numbers.
type PrintedRow struct {
	Size   int
	Values []float64
}

// gap separates the names of columns, which may have blanks in them.
var gap = regexp.MustCompile(`\s{2,}|\t`)

// Tables returns those in an output. Lines that are neither comments nor numbers end
// a table.
func Tables(output string) (list []Printed) {
	var comments []string
	open := false
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if open {
				comments, open = nil, false
			}
			comments = append(comments, strings.TrimSpace(comment))
			continue
		}
		r, ok := parseRow(line)
		switch {
		case line == "":
		case !ok:
			comments, open = nil, false
		case open:
			t := &list[len(list)-1]
			t.Rows = append(t.Rows, r)
		case len(comments) > 0:
			columns := gap.Split(comments[len(comments)-1], -1)
			if len(r.Values) < len(columns) {
				columns = columns[len(columns)-len(r.Values):]
			}
			list = append(list, Printed{comments[0], columns, []PrintedRow{r}})
			open = true
		}
	}
	return list
}

// parseRow reads a line of numbers. A barrier has several values, but no size.
func parseRow(line string) (r PrintedRow, ok bool) {
	fields := strings.Fields(line)
	if len(fields) > 1 {
		if size, err := strconv.Atoi(fields[0]); err == nil {
			r.Size, fields = size, fields[1:]
		}
	}
	for _, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return r, false
		}
		r.Values = append(r.Values, v)
	}
	return r, len(r.Values) > 0
}

// alike reports whether tables of two runs have the same rows and columns.
func alike(a, b []Printed) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i].Rows) != len(b[i].Rows) {
			return false
		}
		for j, r := range a[i].Rows {
			if r.Size != b[i].Rows[j].Size || len(r.Values) != len(b[i].Rows[j].Values) ||
				len(r.Values) != len(a[i].Rows[0].Values) {
				return false
			}
		}
	}
	return true
}

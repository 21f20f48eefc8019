package compare

import (
	"regexp"
	"strconv"
	"strings"
)

// table is what a program prints as the OSU benchmarks do: comment lines, of which
// the last names the columns, and lines of numbers, of which the first is a size if
// there are several.
type table struct {
	title   string
	columns []string // the names of the values; may be fewer than there are
	rows    []row
}

type row struct {
	size   int
	values []float64
}

// gap separates the names of columns, which may have blanks in them.
var gap = regexp.MustCompile(`\s{2,}|\t`)

// tables returns those in an output. Lines that are neither comments nor numbers end
// a table.
func tables(output string) (list []table) {
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
			t.rows = append(t.rows, r)
		case len(comments) > 0:
			columns := gap.Split(comments[len(comments)-1], -1)
			if len(r.values) < len(columns) {
				columns = columns[len(columns)-len(r.values):]
			}
			list = append(list, table{comments[0], columns, []row{r}})
			open = true
		}
	}
	return list
}

// parseRow reads a line of numbers.
func parseRow(line string) (r row, ok bool) {
	fields := strings.Fields(line)
	if len(fields) > 1 {
		size, err := strconv.Atoi(fields[0])
		if err != nil {
			return r, false
		}
		r.size, fields = size, fields[1:]
	}
	for _, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return r, false
		}
		r.values = append(r.values, v)
	}
	return r, len(r.values) > 0
}

// alike reports whether tables of two runs have the same rows and columns.
func alike(a, b []table) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i].rows) != len(b[i].rows) {
			return false
		}
		for j, r := range a[i].rows {
			if r.size != b[i].rows[j].size || len(r.values) != len(b[i].rows[j].values) || len(r.values) != len(a[i].rows[0].values) {
				return false
			}
		}
	}
	return true
}

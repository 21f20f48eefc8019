package chart

import (
	"strings"
	"unicode/utf8"
)

// Widths of the text form, in characters.
const (
	gutter = 6
	column = 44
)

// strokes are the line and the heads of an arrow, by kind.
var strokes = [...]struct{ line, left, right string }{
	Message: {"─", "◀", "▶"},
	Write:   {"═", "◀", "▶"},
	Notice:  {"╌", "◀", "▶"},
}

// Text draws the rows from an index on as text, one line each, under the names
// of the ranks. It is empty if there are none.
func (c *Chart) Text(from int) string {
	if from >= len(c.Rows) {
		return ""
	}
	var b strings.Builder
	line := blank(len(c.Names))
	for i, n := range c.Names {
		put(line, x(i), n)
	}
	flush(&b, line)
	for i := from; i < len(c.Rows); i++ {
		flush(&b, c.line(&c.Rows[i]))
	}
	return b.String()
}

// x is the column of a rank's line.
func x(rank int) int { return gutter + rank*column }

func blank(ranks int) []string {
	line := make([]string, x(ranks)+400)
	for i := range line {
		line[i] = " "
	}
	return line
}

// put writes a text at a column, one character per cell.
func put(line []string, at int, text string) {
	for _, r := range text {
		if at >= 0 && at < len(line) {
			line[at] = string(r)
		}
		at++
	}
}

func flush(b *strings.Builder, line []string) {
	b.WriteString(strings.TrimRight(strings.Join(line, ""), " "))
	b.WriteByte('\n')
}

func (c *Chart) line(r *Row) []string {
	line := blank(len(c.Names))
	for i := range c.Names {
		put(line, x(i), "│")
	}
	put(line, 0, r.Time)
	switch r.Kind {
	case Arrive:
		c.arrow(line, &c.Arrows[r.Arrow])
	case Leave:
		a := &c.Arrows[r.Arrow]
		if a.Kind == Write {
			put(line, x(r.Rank), "╞ starts "+r.Text)
		} else {
			put(line, x(r.Rank), "├ "+r.Text+" to "+c.Names[a.To])
		}
	case Wrong:
		put(line, x(r.Rank), "✗ "+r.Text)
	case Outcome:
		put(line, x(r.Rank), "● "+r.Text)
	default:
		put(line, x(r.Rank), "○ "+r.Text)
	}
	return line
}

// arrow draws an arrow over a whole line.
func (c *Chart) arrow(line []string, a *Arrow) {
	s := strokes[a.Kind]
	label := " " + a.Label + " "
	if a.From == a.To {
		put(line, x(a.To)+1, s.left+s.line+label)
		return
	}
	lo, hi := x(min(a.From, a.To))+1, x(max(a.From, a.To))-1
	for i := lo; i <= hi; i++ {
		line[i] = s.line
	}
	if a.To > a.From {
		line[hi] = s.right
	} else {
		line[lo] = s.left
	}
	width := min(utf8.RuneCountInString(label), hi-lo-3)
	put(line, lo+(hi-lo+1-width)/2, string([]rune(label)[:width]))
}

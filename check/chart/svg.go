package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Measures of the SVG form, in its user units (pixels at 100 %).
const (
	margin     = 24
	timeWidth  = 40
	textWidth  = 270 // beside the outer ranks
	rankGap    = 330 // between two ranks, and where the texts of others are between them:
	wideGap    = 400
	rowHeight  = 30
	nextHeight = 18 // between two arrows that leave at one moment
	lineHeight = 20 // of the title
	titleChars = 120
	textSize   = 13 // of rows, see style
	labelSize  = 12
	besides    = 12 // from a rank's line to a text
)

// style is the whole look. Colours have enough contrast for print.
const style = `
text { font: 13px "Source Sans 3", "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: #1b1f24 }
.title { font-size: 14px; fill: #3c4650 }
.name { font-size: 16px; font-weight: 600; text-anchor: middle }
.time { font-style: italic; fill: #6a737d }
.life { stroke: #a9b2bc; stroke-width: 1.5 }
.call { fill: #1b1f24 } .outcome { fill: #1a7037; font-weight: 600 } .wrong { fill: #b3261e; font-weight: 700 }
.label { font-size: 12px; text-anchor: middle; paint-order: stroke; stroke: #fff; stroke-width: 4px;
  stroke-linejoin: round }
.halo { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round }
.message { stroke: #24578f; fill: none; stroke-width: 1.6 }
.label.message { fill: #24578f; stroke: #fff; stroke-width: 4px }
.write { stroke: #bb4d00; fill: none; stroke-width: 4.5 }
.label.write { fill: #9a3f00; stroke: #fff; stroke-width: 4px }
.notice { stroke: #bb4d00; fill: none; stroke-width: 1.6; stroke-dasharray: 6 4 }
.label.notice { fill: #9a3f00; stroke: #fff; stroke-width: 4px }
.head.message { fill: #24578f; stroke: none } .head.write, .head.notice { fill: #bb4d00; stroke: none }
`

var classes = [...]string{Message: "message", Write: "write", Notice: "notice"}

// drawing is an SVG under way.
type drawing struct {
	*Chart
	b     strings.Builder
	y     []float64 // of rows
	first float64   // x of the first rank's line
	gap   float64   // to the next
}

// SVG draws the chart as an SVG document.
func (c *Chart) SVG() string {
	d := &drawing{Chart: c, first: margin + timeWidth + c.beside(0), gap: rankGap}
	if len(c.Names) > 2 {
		d.gap = wideGap
	}
	title := wrap(c.Title, titleChars)
	top := float64(margin + lineHeight*len(title) + 40)
	d.place(top)
	height := top + rowHeight
	if n := len(d.y); n > 0 {
		height = d.y[n-1] + rowHeight
	}
	width := d.line(len(c.Names)-1) + c.beside(len(c.Names)-1) + margin
	fmt.Fprintf(&d.b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n",
		width, height+margin, width, height+margin)
	fmt.Fprintf(&d.b, "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", style)
	for i, l := range title {
		fmt.Fprintf(&d.b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", margin, margin+lineHeight*i+8,
			html.EscapeString(l))
	}
	for i, n := range c.Names {
		fmt.Fprintf(&d.b, `<text class="name" x="%.0f" y="%.0f">%s</text>`+"\n", d.line(i), top-24,
			html.EscapeString(n))
		fmt.Fprintf(&d.b, `<line class="life" x1="%.0f" y1="%.0f" x2="%.0f" y2="%.0f"/>`+"\n", d.line(i), top-14,
			d.line(i), height)
	}
	var lines, shafts, texts []shape
	for i := range c.Names {
		lines = append(lines, shape{{d.line(i), top}, {d.line(i), height}})
	}
	for i := range c.Arrows {
		d.shaft(&c.Arrows[i])
		x1, y1, x2, y2 := d.ends(&c.Arrows[i])
		shafts = append(shafts, shape{{x1, y1}, {x2, y2}})
	}
	for i := range c.Rows {
		if box := d.row(i, shafts); box != nil {
			texts = append(texts, box)
		}
	}
	for i := range c.Arrows {
		l := d.label(&c.Arrows[i], slices.Concat(lines, texts, shafts[:i], shafts[i+1:]))
		d.write(&c.Arrows[i], l)
		texts = append(texts, l.box)
	}
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

// line is the x of a rank's line.
func (d *drawing) line(rank int) float64 {
	return d.first + float64(rank)*d.gap
}

// beside is the room that the texts of an outer rank take.
func (c *Chart) beside(rank int) float64 {
	widest := float64(textWidth)
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Rank == rank && r.Kind != Leave && r.Kind != Arrive {
			widest = max(widest, besides+textLength(r.Text, textSize, r.Kind != Call))
		}
	}
	return widest
}

// place gives rows their y. What a rank sends leaves at the moment of what made
// it send, and what ranks do at the same time is side by side; all else takes a
// row.
func (d *drawing) place(top float64) {
	y := top - rowHeight/2
	timed := -1 // the last row with a time
	for i, r := range d.Rows {
		if timed >= 0 && r.Time == d.Rows[timed].Time && r.Rank != d.Rows[timed].Rank {
			d.y = append(d.y, d.y[timed])
			continue
		}
		if r.Time != "" {
			timed = i
		}
		share := r.Kind == Leave && i > 0 && d.Rows[i-1].Rank == r.Rank && r.Time == ""
		if share && d.Rows[i-1].Kind == Leave {
			y += nextHeight // one after the other
		} else if !share {
			y += rowHeight
			if r.Kind == Outcome && i > 0 && d.Rows[i-1].Rank == r.Rank && r.Time == "" {
				y -= rowHeight * 0.4
			}
		}
		d.y = append(d.y, y)
	}
}

// row draws a row, if it has a text, and returns the text's box.
func (d *drawing) row(i int, shafts []shape) shape {
	r := &d.Rows[i]
	y := d.y[i]
	if r.Time != "" && (i == 0 || !slices.Contains(d.y[:i], y)) {
		fmt.Fprintf(&d.b, `<text class="time" x="%d" y="%.1f">%s</text>`+"\n", margin, y+4, html.EscapeString(r.Time))
	}
	class := map[RowKind]string{Call: "call", Outcome: "outcome", Wrong: "wrong"}[r.Kind]
	if class == "" {
		return nil
	}
	x := d.line(r.Rank)
	fmt.Fprintf(&d.b, `<circle class="%s" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", class, x, y)
	at, anchor := x+besides, "start"
	box := rowBox(r, at, y, false)
	crossed := func(box shape) bool { return slices.ContainsFunc(shafts, func(s shape) bool { return meet(box, s) }) }
	if left := rowBox(r, x-besides, y, true); r.Rank == 0 ||
		r.Rank < len(d.Names)-1 && crossed(box) && !crossed(left) {
		at, anchor, box = x-besides, "end", left
	}
	fmt.Fprintf(&d.b, `<text class="%s halo" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n",
		class, at, y+4, anchor, html.EscapeString(r.Text))
	return box
}

// ends are the two ends of an arrow. One that has not arrived ends on its way.
func (d *drawing) ends(a *Arrow) (x1, y1, x2, y2 float64) {
	x1, y1, x2 = d.line(a.From), d.y[a.FromRow], d.line(a.To)
	if a.From == a.To {
		x2 = x1 + 40
	}
	if a.ToRow < 0 {
		return x1, y1, x1 + (x2-x1)*0.35, y1 + 10
	}
	return x1, y1, x2, d.y[a.ToRow]
}

func (d *drawing) shaft(a *Arrow) {
	x1, y1, x2, y2 := d.ends(a)
	class := classes[a.Kind]
	length := math.Hypot(x2-x1, y2-y1)
	ux, uy := (x2-x1)/length, (y2-y1)/length
	size := 9.0
	if a.Kind == Write {
		size = 13
	}
	fmt.Fprintf(&d.b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1,
		x2-ux*size*0.8, y2-uy*size*0.8)
	if a.ToRow < 0 {
		fmt.Fprintf(&d.b, `<circle class="head %s" cx="%.1f" cy="%.1f" r="3"/>`+"\n", class, x2, y2)
		return
	}
	px, py := -uy*size*0.42, ux*size*0.42
	fmt.Fprintf(&d.b, `<path class="head %s" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/>`+"\n", class,
		x2, y2, x2-ux*size+px, y2-uy*size+py, x2-ux*size-px, y2-uy*size-py)
}

// write writes the label of an arrow where it has its place.
func (d *drawing) write(a *Arrow, l label) {
	fmt.Fprintf(&d.b, `<text class="label %s" transform="translate(%.1f %.1f) rotate(%.1f)" y="%.1f">%s</text>`+"\n",
		classes[a.Kind], l.x, l.y, l.angle*180/math.Pi, l.down, html.EscapeString(a.Label))
}

// wrap breaks a text into lines of at most n characters.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > n {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

package chart

import (
	"math"
	"unicode/utf8"
)

// Where texts are put. Each label has a box, along its arrow. Of the places along the arrow, on either side of it,
// the label takes the one nearest to where it would like to be whose box no other arrow, line or text meets.

// point is a place in the drawing, and shape the corners of a convex polygon, or the ends of a line.
type point struct{ x, y float64 }
type shape []point

// meet reports whether two shapes have a point in common: they have none if the normal of an edge of one keeps them
// apart.
func meet(a, b shape) bool { return !a.apart(b) && !b.apart(a) }

func (a shape) apart(b shape) bool {
	for i, p := range a {
		q := a[(i+1)%len(a)]
		nx, ny := p.y-q.y, q.x-p.x
		least, most := a.along(nx, ny)
		if l, m := b.along(nx, ny); m < least || l > most {
			return true
		}
	}
	return false
}

// along returns the extent of a shape in a direction.
func (a shape) along(nx, ny float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range a {
		v := p.x*nx + p.y*ny
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

// rectangle returns the box from (l, t) to (r, b), turned about the origin and then moved to (x, y).
func rectangle(x, y, angle, l, t, r, b float64) shape {
	sin, cos := math.Sincos(angle)
	var s shape
	for _, p := range [...]point{{l, t}, {r, t}, {r, b}, {l, b}} {
		s = append(s, point{x + p.x*cos - p.y*sin, y + p.x*sin + p.y*cos})
	}
	return s
}

// textLength is the length of a text in a wide font; bold is wider.
func textLength(text string, size float64, bold bool) float64 {
	em := 0.57
	if bold {
		em = 0.64
	}
	return float64(utf8.RuneCountInString(text)) * size * em
}

// rowBox is the box of the text of a row, whose end at the line is at x.
func rowBox(r *Row, x, y float64, left bool) shape {
	n := textLength(r.Text, textSize, r.Kind != Call)
	if left {
		return rectangle(x, y, 0, -n, -7, 0, 6)
	}
	return rectangle(x, y, 0, 0, -7, n, 6)
}

// label is a place for the label of an arrow.
type label struct {
	x, y, angle float64 // of the middle of its line, and its direction
	down        float64 // of the text's foot, across the arrow
	box         shape
}

// shares is how far along an arrow its label would like to be, by kind: near the beginning the labels of two
// messages that cross are apart.
var shares = [...]float64{Message: 0.3, Write: 0.42, Notice: 0.74}

// labelAt returns the place at a share of an arrow, above or below it.
func (d *drawing) labelAt(a *Arrow, share float64, below bool) label {
	x1, y1, x2, y2 := d.ends(a)
	l := label{x: x1 + (x2-x1)*share, y: y1 + (y2-y1)*share, angle: math.Atan2(y2-y1, x2-x1), down: -5}
	if a.Kind == Write {
		l.down = -7
	}
	if below {
		l.down = 10 - l.down
	}
	if math.Abs(l.angle) > math.Pi/2 { // not on its head
		l.angle = math.Remainder(l.angle-math.Pi, 2*math.Pi)
	}
	half := textLength(a.Label, labelSize, false) / 2
	l.box = rectangle(l.x, l.y, l.angle, -half, l.down-labelSize+1, half, l.down+3)
	return l
}

// label finds the place of the label of an arrow that meets the fewest of the obstacles.
func (d *drawing) label(a *Arrow, obstacles []shape) label {
	var best label
	least := math.Inf(1)
	for step := range 31 {
		share := shares[a.Kind] + float64((step+1)/2)*0.03*float64(1-step%2*2)
		if share < 0.05 || share > 0.95 {
			continue
		}
		for _, below := range [...]bool{false, true} {
			l := d.labelAt(a, share, below)
			met := 0.0
			for _, s := range obstacles {
				if meet(l.box, s) {
					met++
				}
			}
			if met < least {
				best, least = l, met
			}
		}
		if least == 0 {
			break
		}
	}
	return best
}

package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Labels names points of a plot. No name lies on another or on a point: one that finds no room beside its point moves
// away, and a thin line leads to it. Points that are all but in one place and have one name share it.
type Labels struct {
	At    plotter.XYs
	Names []string
}

const (
	labelPoints = 7  // of the font
	dotPoints   = 3  // from the middle of a point to its edge
	samePoints  = 7  // how near points are that share a name
	leadPoints  = 11 // from how far away a line leads to a name
)

// Plot implements plot.Plotter.
func (l Labels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.TextStyle{Color: color.Gray{Y: 0x40}, Font: font.From(plot.DefaultFont, vg.Points(labelPoints)),
		XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	var dots []vg.Point
	for _, q := range l.At {
		dots = append(dots, vg.Point{X: x(q.X), Y: y(q.Y)})
	}
	var widths []vg.Length
	for _, n := range l.Names {
		widths = append(widths, style.Width(n))
	}
	line := draw.LineStyle{Color: color.Gray{Y: 0xa0}, Width: vg.Points(0.4)}
	for i, box := range place(dots, l.Names, widths, c.Rectangle) {
		if box == (vg.Rectangle{}) {
			continue
		}
		middle := box.Min.Add(box.Max).Scale(0.5)
		if math.Hypot(float64(middle.X-dots[i].X), float64(middle.Y-dots[i].Y)) > leadPoints {
			c.StrokeLine2(line, dots[i].X, dots[i].Y, min(max(dots[i].X, box.Min.X), box.Max.X),
				min(max(dots[i].Y, box.Min.Y), box.Max.Y))
		}
		c.FillText(style, middle, l.Names[i])
	}
}

// place returns a box for the name of each dot; an empty one if another's serves for it, or if there is no room.
func place(dots []vg.Point, names []string, widths []vg.Length, page vg.Rectangle) []vg.Rectangle {
	boxes := make([]vg.Rectangle, len(dots))
	var taken []vg.Rectangle
	for _, d := range dots {
		taken = append(taken, around(d, 2*dotPoints, 2*dotPoints))
	}
	for i, d := range dots {
		if shared(dots, names, boxes, i) {
			continue
		}
		for step := range 400 { // outwards, in a circle of 16 places, first to the upper right
			away := 6.5 + float64(step/16)*1.5
			angle := math.Pi/6 + float64(step%16)*math.Pi/8
			middle := vg.Point{X: d.X + 1.2*vg.Length(away*math.Cos(angle)), Y: d.Y + vg.Length(away*math.Sin(angle))}
			box := around(middle, widths[i]+1, labelPoints+0.5)
			if inside(box, page) && free(box, taken) {
				boxes[i] = box
				taken = append(taken, box)
				break
			}
		}
	}
	return boxes
}

// shared reports whether a dot has its name from another one before it.
func shared(dots []vg.Point, names []string, boxes []vg.Rectangle, i int) bool {
	for j := range i {
		if names[j] == names[i] && boxes[j] != (vg.Rectangle{}) &&
			math.Hypot(float64(dots[j].X-dots[i].X), float64(dots[j].Y-dots[i].Y)) < samePoints {
			return true
		}
	}
	return false
}

func around(p vg.Point, width, height vg.Length) vg.Rectangle {
	half := vg.Point{X: width / 2, Y: height / 2}
	return vg.Rectangle{Min: p.Sub(half), Max: p.Add(half)}
}

func inside(box, page vg.Rectangle) bool {
	return box.Min.X >= page.Min.X && box.Min.Y >= page.Min.Y && box.Max.X <= page.Max.X && box.Max.Y <= page.Max.Y
}

// free reports whether a box overlaps none of the others.
func free(box vg.Rectangle, taken []vg.Rectangle) bool {
	for _, t := range taken {
		if box.Min.X < t.Max.X && t.Min.X < box.Max.X && box.Min.Y < t.Max.Y && t.Min.Y < box.Max.Y {
			return false
		}
	}
	return true
}

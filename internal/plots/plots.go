// Package plots draws the plots of this project's reports, as SVG: curves over sizes or numbers of ranks
// on logarithmic axes, and groups of bars.
package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Style is how one of the things that are compared is drawn.
type Style struct {
	Name   string
	Colour color.Color
	Dashes []vg.Length
}

// Curve is one of a plot over sizes. One without points is left out.
type Curve struct {
	Style
	Points plotter.XYs
}

// Group is a group of bars, one for each style; 0 is none.
type Group struct {
	Name   string
	Values []float64
}

func init() { plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} }

// New returns a plot with a grid and a legend.
func New(title, unit string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, unit
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.ThumbnailWidth = vg.Points(24)
	p.Legend.Padding = vg.Points(2)
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xe0}, color.Gray{Y: 0xe0}
	p.Add(grid)
	return p
}

// OverSizes draws curves over sizes of messages with logarithmic axes; nil if there are none.
func OverSizes(title, unit string, curves []Curve) *plot.Plot {
	return Curves(title, "message size", unit, plot.TickerFunc(sizeTicks), curves)
}

// Curves draws curves with logarithmic axes; nil if there are none.
func Curves(title, xLabel, unit string, ticks plot.Ticker, curves []Curve) *plot.Plot {
	if curves == nil {
		return nil
	}
	p := New(title, unit)
	p.X.Label.Text = xLabel
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks
	for _, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			continue // it has no points
		}
		line.Color, line.Dashes, line.Width = c.Colour, c.Dashes, vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(c.Name, line)
	}
	logarithmic(&p.Y)
	return p
}

// margin is left free around a plot: labels are placed by the widths of Liberation
// Sans, and where a viewer takes a wider font they reach further out.
const margin = 3 * vg.Millimeter

// fonts are those of the text in a document; Arial and Helvetica have the same widths.
const fonts = family + ",Arial,Helvetica,sans-serif"

const family = "Liberation Sans"

// SVG returns a plot as a document of 17 by 9 cm.
func SVG(p *plot.Plot) ([]byte, error) {
	c := vgsvg.New(17*vg.Centimeter, 9*vg.Centimeter)
	page := draw.New(c)
	page.SetColor(p.BackgroundColor) // of the margin too
	page.Fill(page.Path())
	p.Draw(draw.Crop(page, margin, -margin, margin, -margin))
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:"+family+";"), []byte("font-family:"+fonts+";")), err
}

// Inline is a document as a part of a page.
func Inline(svg []byte) string {
	s := string(svg)
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	return s
}

// sizeTicks labels powers of 16, or of 4 where there are few of them.
func sizeTicks(least, most float64) (ticks []plot.Tick) {
	few := most < 16*16*least
	for n := 1.0; n <= most; n *= 4 {
		if n < least {
			continue
		}
		t := plot.Tick{Value: n}
		if few || math.Mod(math.Log2(n), 4) == 0 {
			t.Label = SizeName(int(n))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// SizeName is a power of two with its unit.
func SizeName(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// mantissas are the digits that a logarithmic axis labels in each decade, the fewer the more decades there are.
var mantissas = [][]float64{{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}}

// enoughLabels is how many labels let a reader judge the values between them.
const enoughLabels = 4

// Decades labels a logarithmic axis: powers of 10, and as much between them as it takes. There are two labels at
// least, however short the axis is.
func Decades(least, most float64) (ticks []plot.Tick) {
	const slack = 1e-9
	var labels []float64
	for _, digits := range mantissas {
		labels = labels[:0]
		for d := math.Pow(10, math.Floor(math.Log10(least))); d <= most; d *= 10 {
			for _, m := range digits {
				if v := d * m; v >= least*(1-slack) && v <= most*(1+slack) {
					labels = append(labels, v)
				}
			}
		}
		if len(labels) >= enoughLabels {
			break
		}
	}
	if len(labels) < enoughLabels {
		return plot.DefaultTicks{}.Ticks(least, most)
	}
	for _, v := range labels {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 2, 64)})
		if v >= 10 {
			ticks[len(ticks)-1].Label = fmt.Sprintf("%.0f", v)
		}
	}
	for d := math.Pow(10, math.Floor(math.Log10(least))); d <= most; d *= 10 {
		for m := 1.0; m < 10; m++ {
			v := d * m
			known := slices.ContainsFunc(labels, func(l float64) bool { return math.Abs(l-v) < v*slack })
			if v >= least && v <= most && !known {
				ticks = append(ticks, plot.Tick{Value: v})
			}
		}
	}
	return ticks
}

// logarithmic makes an axis logarithmic, with ends that can be labelled around the values that it has.
func logarithmic(a *plot.Axis) {
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.TickerFunc(Decades)
	if a.Min <= 0 || a.Min > a.Max { // nothing is drawn
		return
	}
	digits := mantissas[len(mantissas)-1]
	decade := func(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v))) }
	low, high := decade(a.Min), 10*decade(a.Max)
	for _, m := range digits {
		if v := m * decade(a.Min); v <= a.Min {
			low = max(low, v)
		}
		if v := m * decade(a.Max); v >= a.Max {
			high = min(high, v)
		}
	}
	a.Min, a.Max = low, high
}

// Bars draws groups of bars, of each style one; nil if all are empty. A value below 0 is drawn as 0.
func Bars(title, unit string, styles []Style, groups []Group) *plot.Plot {
	p, most := grouped(title, unit, groups)
	if most == 0 {
		return nil
	}
	width := vg.Points(340 / float64(len(groups)) / float64(len(styles)+1))
	for i, style := range styles {
		heights := make(plotter.Values, len(groups))
		for j, g := range groups {
			heights[j] = max(g.Values[i], 0)
		}
		chart, err := plotter.NewBarChart(heights, width)
		if err != nil || slices.Max(heights) == 0 {
			continue
		}
		chart.Color, chart.LineStyle.Width = style.Colour, 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(styles)-1)/2)
		p.Add(chart)
		p.Legend.Add(style.Name, chart)
	}
	p.Y.Min, p.Y.Max = 0, most*1.35 // room for the legend
	return p
}

// marks are the shapes of Marks, by style.
var marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamond{}}

// diamond is a filled square on its corner.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.FillPolygon(s.Color, []vg.Point{{X: at.X - s.Radius, Y: at.Y}, {X: at.X, Y: at.Y + s.Radius},
		{X: at.X + s.Radius, Y: at.Y}, {X: at.X, Y: at.Y - s.Radius}})
}

// Marks draws groups of values on a logarithmic axis, of each style one; nil if all are empty. Such an axis has no
// zero that a bar could begin at.
func Marks(title, unit string, styles []Style, groups []Group) *plot.Plot {
	p, most := grouped(title, unit, groups)
	if most == 0 {
		return nil
	}
	for i, style := range styles {
		var at plotter.XYs
		for j, g := range groups {
			if g.Values[i] > 0 {
				at = append(at, plotter.XY{X: float64(j) + 0.14*(float64(i)-float64(len(styles)-1)/2), Y: g.Values[i]})
			}
		}
		dots, err := plotter.NewScatter(at)
		if err != nil {
			continue // it has none
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: style.Colour, Radius: vg.Points(3.5), Shape: marks[i%len(marks)]}
		p.Add(dots)
		p.Legend.Add(style.Name, dots)
	}
	p.Y.Max = most * math.Pow(most/p.Y.Min, 0.3) // room for the legend
	logarithmic(&p.Y)
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	return p
}

// groupsWidth is about how much of a page's width groups have.
const groupsWidth = 390 // points

func widest(names []string, style text.Style) (width vg.Length) {
	for _, n := range names {
		width = max(width, style.Width(n))
	}
	return width
}

// grouped returns a plot with a place for each group, and the largest of the values.
func grouped(title, unit string, groups []Group) (p *plot.Plot, most float64) {
	p = New(title, unit)
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
		most = max(most, slices.Max(g.Values))
	}
	if widest(names, p.X.Tick.Label) > groupsWidth/vg.Length(len(groups)) {
		for i, n := range names {
			names[i] = strings.ReplaceAll(n, ", ", "\n")
		}
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	return p, most
}

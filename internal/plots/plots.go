// Package plots draws the plots of this project's reports, as SVG: curves over sizes or numbers of ranks
// on logarithmic axes, and groups of bars.
package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
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

// New returns a plot with a grid and a legend.
func New(title, unit string) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
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

// OverSizes draws curves over bytes with logarithmic axes; nil if there are none.
func OverSizes(title, unit string, curves []Curve) *plot.Plot {
	return Curves(title, "bytes", unit, plot.TickerFunc(sizeTicks), curves)
}

// Curves draws curves with logarithmic axes; nil if there are none.
func Curves(title, xLabel, unit string, ticks plot.Ticker, curves []Curve) *plot.Plot {
	if curves == nil {
		return nil
	}
	p := New(title, unit)
	p.X.Label.Text = xLabel
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(Decades)
	for _, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			continue // it has no points
		}
		line.Color, line.Dashes, line.Width = c.Colour, c.Dashes, vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(c.Name, line)
	}
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

// sizeTicks labels powers of 16.
func sizeTicks(least, most float64) (ticks []plot.Tick) {
	for n := 1.0; n <= most; n *= 4 {
		if n < least {
			continue
		}
		t := plot.Tick{Value: n}
		if math.Mod(math.Log2(n), 4) == 0 {
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

// Decades labels powers of 10, and 2 and 5 times these where there are few of them.
func Decades(least, most float64) (ticks []plot.Tick) {
	few := math.Log10(most/least) < 2.5
	for d := math.Pow(10, math.Floor(math.Log10(least))); d <= most; d *= 10 {
		for m := 1.0; m < 10; m++ {
			v := d * m
			if v < least*0.999 || v > most*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = fmt.Sprintf("%.0f", v)
				if v < 0.9 {
					t.Label = fmt.Sprintf("%.2g", v)
				}
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// Bars draws groups of bars, of each style one; nil if all are empty. A value below 0 is drawn as 0.
func Bars(title, unit string, styles []Style, groups []Group, log bool) *plot.Plot {
	p := New(title, unit)
	width := vg.Points(340 / float64(len(groups)) / float64(len(styles)+1))
	var names []string
	least, most := math.Inf(1), 0.0
	for _, g := range groups {
		names = append(names, g.Name)
		for _, v := range g.Values {
			if v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if most == 0 {
		return nil
	}
	// A bar on a logarithmic axis begins at its lower end.
	foot := math.Pow(10, math.Floor(math.Log10(least)-0.2))
	for i, style := range styles {
		heights := make(plotter.Values, len(groups))
		for j, g := range groups {
			heights[j] = max(g.Values[i], 0)
			if log {
				heights[j] = max(heights[j]-foot, 0)
			}
		}
		chart, err := plotter.NewBarChart(heights, width)
		if err != nil || slices.Max(heights) == 0 {
			continue
		}
		chart.Color, chart.LineStyle.Width = style.Colour, 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(styles)-1)/2)
		if log {
			chart.XMin = 0
			p.Add(footed{chart, foot})
		} else {
			p.Add(chart)
		}
		p.Legend.Add(style.Name, chart)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	p.Y.Min, p.Y.Max = 0, most*1.35 // room for the legend
	if log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(Decades)
		p.Y.Min, p.Y.Max = foot, most*math.Pow(most/foot, 0.45)
	}
	return p
}

// footed draws a bar chart whose bars begin above 0.
type footed struct {
	*plotter.BarChart
	foot float64
}

func (f footed) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, h := range f.Values {
		if h <= 0 {
			continue
		}
		at := x(float64(i)) + f.Offset
		left, right, low, high := at-f.Width/2, at+f.Width/2, y(f.foot), y(f.foot+h)
		c.FillPolygon(f.Color, []vg.Point{{X: left, Y: low}, {X: left, Y: high}, {X: right, Y: high},
			{X: right, Y: low}})
	}
}

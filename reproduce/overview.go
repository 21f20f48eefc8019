package reproduce

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/exanet-mpi/exanet/internal/plots"
)

// Bounds of the overview in percent.
const overviewLeast, overviewMost = 0.5, 100.

// drawOverview shows all predictions in percent, the text's number against the simulated one.
func drawOverview(outcomes []Outcome) ([]byte, error) {
	p := plots.New("Predictions: the thesis's text and the simulated prototype", "simulated, %")
	p.X.Label.Text = "text, %"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.TickerFunc(plots.Decades)
		a.Min, a.Max = overviewLeast, overviewMost
	}
	for _, factor := range []float64{0.5, 1, 2} {
		line, err := plotter.NewLine(plotter.XYs{{X: overviewLeast, Y: overviewLeast * factor},
			{X: overviewMost, Y: overviewMost * factor}})
		if err != nil {
			return nil, err
		}
		line.Color = color.Gray{Y: 0x90}
		if factor != 1 {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(clipped{line})
	}
	var numbers plots.Labels
	for _, kind := range []struct {
		name       string
		allocation bool
		colour     color.Color
		shape      draw.GlyphDrawer
	}{
		{"of the protocols", false, style(writeThree).Colour, draw.CircleGlyph{}},
		{"of the memory pool", true, style(readbased).Colour, draw.SquareGlyph{}},
	} {
		var at plotter.XYs
		for _, o := range outcomes {
			if o.Kind != Prediction || o.Allocation() != kind.allocation {
				continue
			}
			for _, x := range o.points {
				y := math.Abs(x.simulated)
				if x.simulated*x.text <= 0 {
					y = overviewLeast
				}
				at = append(at, plotter.XY{X: min(max(math.Abs(x.text), overviewLeast), overviewMost),
					Y: min(max(y, overviewLeast), overviewMost)})
				numbers.Names = append(numbers.Names, strings.TrimPrefix(o.ID, "E"))
			}
		}
		if at == nil {
			continue
		}
		dots, err := plotter.NewScatter(at)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: kind.colour, Radius: vg.Points(2.5), Shape: kind.shape}
		numbers.At = append(numbers.At, at...)
		p.Add(dots)
		p.Legend.Add(kind.name, dots)
	}
	p.Add(numbers)
	return plots.SVG(p)
}

// clipped is a line that may leave the plot.
type clipped struct{ *plotter.Line }

// DataRange keeps the axes as they are.
func (clipped) DataRange() (xmin, xmax, ymin, ymax float64) {
	return overviewLeast, overviewMost, overviewLeast, overviewMost
}

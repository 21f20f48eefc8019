package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/exanet-mpi/exanet/internal/plots"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// What is drawn: each MPI, and this one under it. The colours are told apart by those who see no
// red or no green, too; the other MPIs are dashed.
var (
	drawnWays = []way{{preload.MPICH, alone}, {preload.MPICH, ours}, {preload.OpenMPI, alone}, {preload.OpenMPI, ours}}
	dashed    = []vg.Length{vg.Points(5), vg.Points(3)}
	styles    = []plots.Style{
		{Name: drawnWays[0].String(), Colour: color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, Dashes: dashed},
		{Name: drawnWays[1].String(), Colour: color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}},
		{Name: drawnWays[2].String(), Colour: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, Dashes: dashed},
		{Name: drawnWays[3].String(), Colour: color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}},
	}
	tcpStyle  = plots.Style{Name: tcpAlone.String(), Colour: color.Gray{Y: 0x80}, Dashes: dashed}
	plotNames = []string{"latency.svg", "bandwidth.svg", "collectives.svg", "crowd4.svg", "crowd8.svg"}
)

// plots draws all that there are figures for, by file name.
func (r *results) plots() (map[string][]byte, error) {
	files := map[string][]byte{}
	for i, p := range []*plot.Plot{
		plots.OverSizes("Latency, 2 ranks", "us", r.curves(latencyColumn)),
		plots.OverSizes("Bandwidth, 2 ranks, window 64", "MB/s", r.curves(bandwidthColumn)),
		r.collectivesPlot(), r.crowdPlot("4 ranks"), r.crowdPlot("8 ranks"),
	} {
		if p == nil {
			continue
		}
		svg, err := plots.SVG(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plotNames[i], err)
		}
		files[plotNames[i]] = svg
	}
	return files, nil
}

func (r *results) curves(c column) (list []plots.Curve) {
	for i, w := range append(slices.Clip(drawnWays), tcpAlone) {
		one := plots.Curve{Style: tcpStyle}
		if i < len(styles) {
			one.Style = styles[i]
		}
		for _, f := range r.series(c, w) {
			one.Points = append(one.Points, plotter.XY{X: float64(f.Size), Y: f.median()})
		}
		if one.Points != nil {
			list = append(list, one)
		}
	}
	return list
}

// crowdPlot shows collectives of the smallest size with more ranks than cores.
func (r *results) crowdPlot(job string) *plot.Plot {
	var groups []plots.Group
	for _, name := range crowded {
		g, some := plots.Group{Name: name, Values: make([]float64, len(drawnWays))}, false
		for i, w := range drawnWays {
			if list := r.series(column{job, name, "Avg Latency(us)"}, w); list != nil {
				g.Values[i], some = list[0].median(), true
			}
		}
		if some {
			groups = append(groups, g)
		}
	}
	if groups == nil {
		return nil
	}
	return plots.Marks("Collectives of "+job+", 8 B", "us", styles, groups)
}

// collectivesPlot shows the means over the sizes of the ratios of 2 ranks.
func (r *results) collectivesPlot() *plot.Plot {
	var groups []plots.Group
	for _, name := range collectives {
		g, some := plots.Group{Name: name, Values: make([]float64, len(hosts))}, false
		for i, h := range hosts {
			x := row{columns: tables("2 ranks", "", "Avg Latency(us)", name)}
			list, _ := r.points(x, bound{}, way{h, ours},
				func(c column, size int) *figure { return r.one(c, way{h, alone}, size) }, at(0), h)
			if list != nil {
				g.Values[i], some = mean(list).value, true
			}
		}
		if some {
			groups = append(groups, g)
		}
	}
	if groups == nil {
		return nil
	}
	p := plots.Bars("Collectives of 2 ranks, 8 B to 1 MiB: mean ratio to the MPI alone", "",
		[]plots.Style{styles[1], styles[3]}, groups)
	as := plotter.NewFunction(func(float64) float64 { return 1 }) // as long as that
	as.Dashes = dashed
	p.Add(as)
	p.Y.Max = max(p.Y.Max, 1.35) // the legend is above it
	p.Y.Tick.Marker = plot.TickerFunc(halves)
	p.X.Tick.Label.Rotation = -math.Pi / 4
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XLeft, draw.YCenter
	return p
}

// halves labels each half.
func halves(least, most float64) (ticks []plot.Tick) {
	for v := math.Ceil(2*least) / 2; v <= most; v += 0.5 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.1f", v)})
	}
	return ticks
}

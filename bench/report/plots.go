package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the plots
)

// The colours are told apart by those who see no red or no green, too; the other MPIs are dashed.
var (
	colours = map[string]color.Color{
		mpichAlone:   color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
		mpichOurs:    color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
		openmpiAlone: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		openmpiOurs:  color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
		floorName:    color.Gray{Y: 0x80},
	}
	dashes = map[string][]vg.Length{
		mpichAlone: {vg.Points(5), vg.Points(3)}, openmpiAlone: {vg.Points(5), vg.Points(3)}, floorName: {vg.Points(1), vg.Points(2)},
	}
)

const floorName = "the machine"

// curve is one of a plot over sizes.
type curve struct {
	name   string
	points plotter.XYs
}

// bar is a group of bars, one for each way; 0 is none.
type bars struct {
	name   string
	values []float64
}

// plots draws all that there are figures for, by file name.
func (s Set) plots() (map[string][]byte, error) {
	list := map[string]func() *plot.Plot{
		"latency.svg": func() *plot.Plot {
			return overSizes("Latency, 2 ranks", "us", s.curves(latencyColumn, func(size int) float64 { return s.floorTime(size) }))
		},
		"bandwidth.svg": func() *plot.Plot {
			return overSizes("Bandwidth, 2 ranks, window 64", "MB/s", s.curves(bwColumn, func(size int) float64 {
				if t := s.floorTime(size); t > 0 {
					return float64(size) / t
				}
				return 0
			}))
		},
		"bibw.svg": func() *plot.Plot {
			return overSizes("Bandwidth both ways, 2 ranks, window 64", "MB/s", s.curves(bibwColumn, nil))
		},
		"collectives.svg": s.collectivesPlot,
		"crowd4.svg":      func() *plot.Plot { return s.crowdPlot(4) },
		"crowd8.svg":      func() *plot.Plot { return s.crowdPlot(8) },
		"idle.svg": func() *plot.Plot {
			var groups []bars
			for _, call := range idleCalls {
				groups = append(groups, s.bars(call, idleColumn(call)))
			}
			return grouped("Processor time of a rank that is blocked", "% of a core", groups, false)
		},
		"overlap.svg": func() *plot.Plot {
			var groups []bars
			for _, call := range overlapCalls {
				groups = append(groups, s.bars(call+", the peer in MPI", excessColumn(call)))
			}
			groups = append(groups, s.bars("both compute", column{"overlap", "computing", "computing", "Excess (us)"}))
			return grouped("1 MiB under a computation: time beyond it", "us", groups, false)
		},
	}
	files := map[string][]byte{}
	for name, draw := range list {
		p := draw()
		if p == nil {
			continue
		}
		w, err := p.WriterTo(17*vg.Centimeter, 9*vg.Centimeter, "svg")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = b.Bytes()
	}
	return files, nil
}

// curves are those of the four ways, and of the machine.
func (s Set) curves(c column, floor func(size int) float64) (list []curve) {
	machine := curve{name: floorName}
	seen := map[int]bool{}
	for _, way := range fourWays {
		one := curve{name: way}
		for _, f := range s.series(c, way) {
			one.points = append(one.points, plotter.XY{X: float64(f.Size), Y: f.median()})
			if floor == nil || seen[f.Size] || floor(f.Size) <= 0 {
				continue
			}
			seen[f.Size] = true
			machine.points = append(machine.points, plotter.XY{X: float64(f.Size), Y: floor(f.Size)})
		}
		if one.points != nil {
			list = append(list, one)
		}
	}
	if machine.points != nil && list != nil {
		list = append(list, machine)
	}
	return list
}

func newPlot(title, unit string) *plot.Plot {
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

// overSizes draws curves with logarithmic axes; nil if there are none.
func overSizes(title, unit string, curves []curve) *plot.Plot {
	if curves == nil {
		return nil
	}
	p := newPlot(title, unit)
	p.X.Label.Text = "bytes"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(sizeTicks)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	for _, c := range curves {
		line, err := plotter.NewLine(c.points)
		if err != nil {
			continue // it has no points
		}
		line.Color, line.Dashes, line.Width = colours[c.name], dashes[c.name], vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	return p
}

// sizeTicks labels powers of 16.
func sizeTicks(least, most float64) (ticks []plot.Tick) {
	for n := 1.0; n <= most; n *= 4 {
		if n < least {
			continue
		}
		t := plot.Tick{Value: n}
		if math.Mod(math.Log2(n), 4) == 0 {
			t.Label = sizeName(int(n))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// decades labels powers of 10, and 2 and 5 times these where there are few of them.
func decades(least, most float64) (ticks []plot.Tick) {
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

func (s Set) bars(name string, columns ...column) bars {
	b := bars{name: name}
	for _, way := range fourWays {
		v := 0.0
		for _, c := range columns {
			if list := s.series(c, way); list != nil {
				v = list[0].median()
			}
		}
		b.values = append(b.values, v)
	}
	return b
}

// grouped draws groups of four bars; nil if all are empty. A value below 0 is drawn as 0.
func grouped(title, unit string, groups []bars, log bool) *plot.Plot {
	p := newPlot(title, unit)
	width := vg.Points(340 / float64(len(groups)) / 5)
	var names []string
	least, most := math.Inf(1), 0.0
	for _, g := range groups {
		names = append(names, g.name)
		for _, v := range g.values {
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
	for i, way := range fourWays {
		heights := make(plotter.Values, len(groups))
		for j, g := range groups {
			heights[j] = max(g.values[i], 0)
			if log {
				heights[j] = max(heights[j]-foot, 0)
			}
		}
		chart, err := plotter.NewBarChart(heights, width)
		if err != nil || slices.Max(heights) == 0 {
			continue
		}
		chart.Color, chart.LineStyle.Width = colours[way], 0
		chart.Offset = width * vg.Length(float64(i)-1.5)
		if log {
			chart.XMin = 0
			p.Add(footed{chart, foot})
		} else {
			p.Add(chart)
		}
		p.Legend.Add(way, chart)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	p.Legend.Left = false
	p.Y.Min, p.Y.Max = 0, most*1.35 // room for the legend
	if log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
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
		c.FillPolygon(f.Color, []vg.Point{{X: left, Y: low}, {X: left, Y: high}, {X: right, Y: high}, {X: right, Y: low}})
	}
}

// crowdPlot shows collectives of 8 bytes with more ranks than cores.
func (s Set) crowdPlot(ranks int) *plot.Plot {
	var groups []bars
	for _, name := range append(append([]string{}, crowded...), crowdedRooted...) {
		b := s.bars(name, collectiveColumn("crowd", fmt.Sprintf("%d ranks", ranks), name))
		if b.values[1] > 0 || b.values[3] > 0 {
			groups = append(groups, b)
		}
	}
	if groups == nil {
		return nil
	}
	return grouped(fmt.Sprintf("Collectives of %d ranks, 8 B", ranks), "us", groups, true)
}

// collectivesPlot shows the means over the sizes of the ratios of 2 ranks.
func (s Set) collectivesPlot() *plot.Plot {
	var groups []bars
	for _, name := range collectives {
		c := collectiveColumn("collectives", "2 ranks", name)
		g := bars{name: name, values: make([]float64, len(fourWays))}
		for i, o := range opponents {
			if list, _ := s.points(c, o.ours, s.against(c, o.alone)); list != nil {
				g.values[2*i+1] = meanRatio(list)
			}
		}
		groups = append(groups, g)
	}
	p := grouped("Collectives of 2 ranks, 8 B to 1 MiB: mean ratio to the MPI alone", "", groups, false)
	if p != nil {
		p.X.Tick.Label.Rotation = math.Pi / 4
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	return p
}

func meanRatio(list []point) float64 {
	var v []float64
	for _, p := range list {
		v = append(v, p.ratio)
	}
	return geometricMean(v)
}

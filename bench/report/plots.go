package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/exanet-mpi/exanet/internal/plots"
)

// styles are those of fourWays. The colours are told apart by those who see no red or no green, too; the other MPIs are dashed.
var styles = []plots.Style{
	{Name: mpichAlone, Colour: color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, Dashes: alone},
	{Name: mpichOurs, Colour: color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}},
	{Name: openmpiAlone, Colour: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, Dashes: alone},
	{Name: openmpiOurs, Colour: color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}},
}

var (
	alone        = []vg.Length{vg.Points(5), vg.Points(3)}
	machineStyle = plots.Style{Name: "the machine", Colour: color.Gray{Y: 0x80}, Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}
)

// plots draws all that there are figures for, by file name.
func (s Set) plots() (map[string][]byte, error) {
	list := map[string]func() *plot.Plot{
		"latency.svg": func() *plot.Plot {
			return plots.OverSizes("Latency, 2 ranks", "us", s.curves(latencyColumn, func(size int) float64 { return s.floorTime(size) }))
		},
		"bandwidth.svg": func() *plot.Plot {
			return plots.OverSizes("Bandwidth, 2 ranks, window 64", "MB/s", s.curves(bwColumn, func(size int) float64 {
				if t := s.floorTime(size); t > 0 {
					return float64(size) / t
				}
				return 0
			}))
		},
		"bibw.svg": func() *plot.Plot {
			return plots.OverSizes("Bandwidth both ways, 2 ranks, window 64", "MB/s", s.curves(bibwColumn, nil))
		},
		"collectives.svg": s.collectivesPlot,
		"crowd4.svg":      func() *plot.Plot { return s.crowdPlot(4) },
		"crowd8.svg":      func() *plot.Plot { return s.crowdPlot(8) },
		"idle.svg": func() *plot.Plot {
			var groups []plots.Group
			for _, call := range idleCalls {
				groups = append(groups, s.bars(call, idleColumn(call)))
			}
			return plots.Bars("Processor time of a rank that is blocked", "% of a core", styles, groups, false)
		},
		"overlap.svg": func() *plot.Plot {
			var groups []plots.Group
			for _, call := range overlapCalls {
				groups = append(groups, s.bars(call+", the peer in MPI", excessColumn(call)))
			}
			groups = append(groups, s.bars("both compute", column{"overlap", "computing", "computing", "Excess (us)"}))
			return plots.Bars("1 MiB under a computation: time beyond it", "us", styles, groups, false)
		},
	}
	files := map[string][]byte{}
	for name, draw := range list {
		p := draw()
		if p == nil {
			continue
		}
		svg, err := plots.SVG(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = svg
	}
	return files, nil
}

// curves are those of the four ways, and of the machine.
func (s Set) curves(c column, floor func(size int) float64) (list []plots.Curve) {
	machine := plots.Curve{Style: machineStyle}
	seen := map[int]bool{}
	for i, way := range fourWays {
		one := plots.Curve{Style: styles[i]}
		for _, f := range s.series(c, way) {
			one.Points = append(one.Points, plotter.XY{X: float64(f.Size), Y: f.median()})
			if floor == nil || seen[f.Size] || floor(f.Size) <= 0 {
				continue
			}
			seen[f.Size] = true
			machine.Points = append(machine.Points, plotter.XY{X: float64(f.Size), Y: floor(f.Size)})
		}
		if one.Points != nil {
			list = append(list, one)
		}
	}
	if machine.Points != nil && list != nil {
		list = append(list, machine)
	}
	return list
}

func (s Set) bars(name string, columns ...column) plots.Group {
	b := plots.Group{Name: name}
	for _, way := range fourWays {
		v := 0.0
		for _, c := range columns {
			if list := s.series(c, way); list != nil {
				v = list[0].median()
			}
		}
		b.Values = append(b.Values, v)
	}
	return b
}

// crowdPlot shows collectives of 8 bytes with more ranks than cores.
func (s Set) crowdPlot(ranks int) *plot.Plot {
	var groups []plots.Group
	for _, name := range append(append([]string{}, crowded...), crowdedRooted...) {
		b := s.bars(name, collectiveColumn("crowd", fmt.Sprintf("%d ranks", ranks), name))
		if b.Values[1] > 0 || b.Values[3] > 0 {
			groups = append(groups, b)
		}
	}
	if groups == nil {
		return nil
	}
	return plots.Bars(fmt.Sprintf("Collectives of %d ranks, 8 B", ranks), "us", styles, groups, true)
}

// collectivesPlot shows the means over the sizes of the ratios of 2 ranks.
func (s Set) collectivesPlot() *plot.Plot {
	var groups []plots.Group
	for _, name := range collectives {
		c := collectiveColumn("collectives", "2 ranks", name)
		g := plots.Group{Name: name, Values: make([]float64, len(fourWays))}
		for i, o := range opponents {
			if list, _ := s.points(c, o.ours, s.against(c, o.alone)); list != nil {
				g.Values[2*i+1] = meanRatio(list)
			}
		}
		groups = append(groups, g)
	}
	p := plots.Bars("Collectives of 2 ranks, 8 B to 1 MiB: mean ratio to the MPI alone", "", styles, groups, false)
	if p != nil {
		p.X.Tick.Label.Rotation = -math.Pi / 4
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XLeft, draw.YCenter
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

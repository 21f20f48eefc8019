package reproduce

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/exanet-mpi/exanet/internal/plots"
)

// style is how a variant is drawn.
func style(variant string) plots.Style {
	dashed := []vg.Length{vg.Points(5), vg.Points(3)}
	switch variant {
	case readbased:
		return plots.Style{Name: variant, Colour: color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, Dashes: dashed}
	case writeOne:
		return plots.Style{Name: variant + " (1.0)", Colour: color.Gray{Y: 0x60},
			Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}
	case writeTwo:
		return plots.Style{Name: variant + " (2.0)", Colour: color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
			Dashes: dashed}
	case writeThree:
		return plots.Style{Name: variant + " (3.0)", Colour: color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}}
	case customizedName:
		return plots.Style{Name: variant, Colour: color.Black, Dashes: []vg.Length{vg.Points(6), vg.Points(8)}}
	case sendInitiated:
		return plots.Style{Name: variant, Colour: color.RGBA{R: 0x7b, G: 0x32, B: 0x94, A: 0xff},
			Dashes: []vg.Length{vg.Points(3), vg.Points(7)}}
	}
	// Its gaps show ticket's curve, with which it often coincides.
	return plots.Style{Name: variant, Colour: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		Dashes: []vg.Length{vg.Points(9), vg.Points(6)}}
}

// plotted is a figure of the report.
type plotted struct {
	where string // the paper's figures that it redraws
	name  string
	about string
	svg   string
}

// sweep is a figure over sizes.
type sweep struct {
	where, title, unit string
	u                  setup
	from, to           int
	variants           []string
}

var latest = []string{readbased, writeThree, optimistic}

// sweeps are the figures over sizes.
func sweeps() []sweep {
	list := []sweep{
		{"3.21, 3.29, 4.1 to 4.4", "Latency in one QFDB", "us", pair("latency", sameQFDB), 1, 1 << 22, allVariants},
		{"4.5, 4.6", "Latency over 3 hops", "us", pair("latency", hops3), 1, 1 << 20, allVariants},
		{"4.7, 4.8", "Latency over 5 hops", "us", pair("latency", hops5), 1, 1 << 20, allVariants},
		{"4.9, 4.10", "Bandwidth in one QFDB, windows of 64", "MB/s", pair("bw", sameQFDB), 1, 1 << 20, allVariants},
		{"4.11", "MPI_Send into a fast receive, one QFDB", "us", pair("fastrecv", sameQFDB), 64, 8192,
			[]string{readbased, writeThree}},
		{"4.12", "MPI_Send into a fast receive, 3 hops", "us", pair("fastrecv", hops3), 64, 8192,
			[]string{readbased, writeThree}},
		{"4.13", "MPI_Send into a fast receive, 5 hops", "us", pair("fastrecv", hops5), 64, 8192,
			[]string{readbased, writeThree}},
	}
	where := map[string][3]string{
		"bcast":     {"4.14, 4.15, 4.17", "4.18 to 4.20", "4.21 to 4.23"},
		"reduce":    {"4.24 to 4.26", "4.27 to 4.29", "4.30 to 4.32"},
		"scatter":   {"4.35 to 4.37", "4.38 to 4.40", "4.41 to 4.43"},
		"allreduce": {"4.44 to 4.46", "4.47 to 4.49", "4.50 to 4.52"},
	}
	for _, name := range []string{"bcast", "reduce", "scatter", "allreduce"} {
		for i, ranks := range three {
			u := many(name, inOrder)
			u.ranks = ranks
			least, most := 1, 1<<18
			if name == "reduce" || name == "allreduce" {
				least = 4
			}
			if ranks > 16 {
				most = 1 << 16
			}
			list = append(list, sweep{where[name][i], fmt.Sprintf("%s of %d ranks, ordered", name, ranks), "us", u,
				least, most, latest})
			if name == "bcast" && ranks == 16 || name == "reduce" && ranks == 128 {
				u.topology = shuffled
				at := "4.16"
				if name == "reduce" {
					at = "4.33"
				}
				list = append(list, sweep{at, fmt.Sprintf("%s of %d ranks, shuffled host files", name, ranks), "us", u,
					64, 8192, latest})
			}
		}
	}
	return list
}

func (l *lab) drawSweep(w sweep) (plotted, error) {
	s := &sheet{lab: l}
	var curves []plots.Curve
	sizes := s.sizes(w.from, w.to)
	for _, v := range w.variants {
		c := plots.Curve{Style: style(v)}
		for i, y := range s.values(w.u, v, sizes) {
			c.Points = append(c.Points, plotter.XY{X: float64(sizes[i]), Y: y})
		}
		curves = append(curves, c)
	}
	if s.err != nil {
		return plotted{}, s.err
	}
	return finish(w.where, w.title, "", plots.OverSizes(w.title, w.unit, curves))
}

func finish(where, title, about string, p *plot.Plot) (plotted, error) {
	if p == nil {
		return plotted{}, fmt.Errorf("%s: there is nothing to draw", title)
	}
	svg, err := plots.SVG(p)
	return plotted{where, title, about, plots.Inline(svg)}, err
}

// drawBarriers is figure 4.34.
func (l *lab) drawBarriers() (plotted, error) {
	s := &sheet{lab: l}
	var groups []plots.Group
	var styles []plots.Style
	for _, v := range latest {
		styles = append(styles, style(v))
	}
	for _, n := range three {
		g := plots.Group{Name: fmt.Sprintf("%d ranks", n)}
		for _, v := range latest {
			u := many("barrier", inOrder)
			u.ranks, u.variant = n, v
			g.Values = append(g.Values, s.of(u).value)
		}
		groups = append(groups, g)
	}
	if s.err != nil {
		return plotted{}, s.err
	}
	return finish("4.34", "Barrier", "", plots.Bars("Barrier", "us", styles, groups))
}

// codeFigures are those of the codes: the communication, as a share of what it is with readbased.
var codeFigures = []struct {
	where, name string
	ranks       []int
	share       []float64
}{
	{"4.53, 4.54", "LU", four, shareLU},
	{"4.56, 4.57", "MG", four[:3], shareMG},
	{"4.59, 4.60", "IS", four, shareIS},
	{"4.61, 4.62", "SP", []int{25, 64, 121}, shareSP},
	{"4.63", "HPCG", three, shareHPCG},
}

func (l *lab) drawCode(i int) (plotted, error) {
	f := codeFigures[i]
	s := &sheet{lab: l}
	var groups []plots.Group
	about := "Of ticket: "
	for j, n := range f.ranks {
		a, b := s.accounts(f.name, n, f.share[j], writeThree, readbased)
		if s.err != nil {
			return plotted{}, s.err
		}
		groups = append(groups, plots.Group{Name: fmt.Sprintf("%d ranks", n),
			Values: []float64{b.communication / 1e3, a.communication / 1e3}})
		if j > 0 {
			about += "; "
		}
		about += fmt.Sprintf("%d ranks: communication is %.0f %% of the time (text: %.0f %%), total time %+.1f %% "+
			"against readbased, fast receives %.0f %%, %.0f B a message",
			n, 100*a.share(), 100*f.share[j], totalTime(a, b), 100*float64(a.fast)/float64(max(a.receives, 1)),
			a.averageBytes)
	}
	title := f.name + ": communication of an iteration, mean of the ranks"
	return finish(f.where, title, about+".", plots.Bars(title, "ms", []plots.Style{style(readbased), style(writeThree)},
		groups))
}

// drawParts are figures 4.64 and 4.65.
func (l *lab) drawParts(bench, where, title string) (plotted, error) {
	s := &sheet{lab: l}
	var groups []plots.Group
	for _, n := range three {
		g := plots.Group{Name: fmt.Sprintf("%d ranks", n)}
		for _, v := range []string{readbased, writeThree} {
			u := many(bench, inOrder)
			u.ranks, u.variant, u.size = n, v, 64
			g.Values = append(g.Values, s.of(u).value)
		}
		groups = append(groups, g)
	}
	if s.err != nil {
		return plotted{}, s.err
	}
	return finish(where, title, "", plots.Bars(title, "us", []plots.Style{style(readbased), style(writeThree)}, groups))
}

// drawGraph is figures 4.66 and 4.67.
func (l *lab) drawGraph() (plotted, error) {
	s := &sheet{lab: l}
	variants := []string{readbased, writeThree, optimistic}
	var styles []plots.Style
	for _, v := range variants {
		styles = append(styles, style(v))
	}
	ranks := three
	if l.quick {
		ranks = three[:1]
	}
	var groups []plots.Group
	about := "Fast receives: "
	for i, n := range ranks {
		send, recv := plots.Group{Name: fmt.Sprintf("%d ranks, send", n)},
			plots.Group{Name: fmt.Sprintf("%d ranks, receive", n)}
		for _, v := range variants {
			u := many("mpigraph", inOrder)
			u.ranks, u.variant, u.size = n, v, graphBytes
			f := s.of(u)
			send.Values, recv.Values = append(send.Values, f.value), append(recv.Values, f.other)
			if v == optimistic {
				if i > 0 {
					about += ", "
				}
				about += fmt.Sprintf("%d ranks %.0f %%", n, 100*fastShare(f))
			}
		}
		groups = append(groups, send, recv)
	}
	if s.err != nil {
		return plotted{}, s.err
	}
	return finish("4.66, 4.67", "mpiGraph, 16 KiB", about+" (optimistic).",
		plots.Bars("mpiGraph, 16 KiB: bandwidth, mean of all pairs", "MB/s", styles, groups))
}

// drawLAMMPS is figures 4.69 and 4.70.
func (l *lab) drawLAMMPS() (plotted, error) {
	s := &sheet{lab: l}
	var groups []plots.Group
	for _, c := range lammps {
		for _, n := range three {
			a, b := s.atPoint(setup{bench: c.name, topology: inOrder, ranks: n}, c.point, writeThree, readbased)
			if s.err != nil {
				return plotted{}, s.err
			}
			groups = append(groups, plots.Group{Name: fmt.Sprintf("%s, %d", c.name, n),
				Values: []float64{1e6 / b.total, 1e6 / a.total}})
		}
	}
	return finish("4.69, 4.70", "LAMMPS: time steps a second", "",
		plots.Marks("LAMMPS: time steps a second, by ranks", "1/s", []plots.Style{style(readbased), style(writeThree)},
			groups))
}

// figureTasks are the tasks that draw, into a list in the order of the thesis.
func (l *lab) figureTasks() (*[]plotted, []task) {
	var draws []func() (plotted, error)
	for _, w := range sweeps() {
		draws = append(draws, func() (plotted, error) { return l.drawSweep(w) })
	}
	draws = append(draws, l.drawBarriers)
	for i := range codeFigures {
		draws = append(draws, func() (plotted, error) { return l.drawCode(i) })
	}
	draws = append(draws,
		func() (plotted, error) {
			return l.drawParts("halo", "4.64", "Halo exchange of HPCG, 64 x 64 x 64 points a rank")
		},
		func() (plotted, error) { return l.drawParts("dot", "4.65", "Allreduce of HPCG, 8 B") },
		l.drawGraph, l.drawLAMMPS)
	list := make([]plotted, len(draws))
	var tasks []task
	for i, draw := range draws {
		tasks = append(tasks, task{"figure " + strconv.Itoa(i+1), func() (err error) {
			list[i], err = draw()
			return err
		}})
	}
	return &list, tasks
}

package reproduce

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/internal/plots"
)

//go:embed customized.html
var customizedText string

var customizedTemplate = parsePage(customizedText)

// compared are the variants of the figures. Those with gaps, through which others show, are drawn last.
var compared = []string{writeThree, readbased, customizedName, sendInitiated}

// customized is what is made of Small and Yuan's paper besides its claims.
func (l *lab) customized() part {
	draws := []func() (plotted, error){l.drawPingpong, l.draw9a, l.draw9b,
		func() (plotted, error) { return l.drawLarge("10a") }, func() (plotted, error) { return l.drawLarge("10b") },
		func() (plotted, error) { return l.drawBackground(mediumBytes) },
		func() (plotted, error) { return l.drawBackground(400000) }}
	drawn := make([]plotted, len(draws))
	var tasks []task
	for i, draw := range draws {
		tasks = append(tasks, task{fmt.Sprintf("figure %d of Small and Yuan", i+1), func() (err error) {
			drawn[i], err = draw()
			return err
		}})
	}
	return part{tasks, func(outcomes []Outcome) (map[string][]byte, error) {
		unit, err := l.unit()
		if err != nil {
			return nil, err
		}
		outcomes = of(SmallYuan, outcomes)
		kind := func(k Kind) []Outcome { return matching(outcomes, func(o Outcome) bool { return o.Kind == k }) }
		var text bytes.Buffer
		err = customizedTemplate.Execute(&text, map[string]any{
			"Unit": number(microseconds(unit)), "Rule": template.HTML(Rule),
			"Tallies": []tally{count("control messages", kind(Exact)), count("predictions", kind(Prediction)),
				count("calibration", kind(Calibration)),
				count("all", matching(outcomes, func(o Outcome) bool { return o.Kind != NotScored }))},
			"Disagrees":   matching(outcomes, func(o Outcome) bool { return o.Verdict == Disagrees }),
			"Predictions": kind(Prediction), "Exact": kind(Exact), "Calibration": kind(Calibration),
			"NotScored": kind(NotScored), "Plots": views(drawn),
		})
		return map[string][]byte{"small-yuan.html": text.Bytes()}, err
	}}
}

// roundAxis is the axis of the progress benchmark.
const roundAxis = "a round, us"

// curvesOf are the figures of the compared variants over sizes.
func (s *sheet) curvesOf(u setup, sizes []int) (curves []plots.Curve) {
	for _, v := range compared {
		c := plots.Curve{Style: style(v)}
		for i, y := range s.values(u, v, sizes) {
			c.Points = append(c.Points, plotter.XY{X: float64(sizes[i]), Y: y})
		}
		curves = append(curves, c)
	}
	return curves
}

// barsOf are those of the compared variants in groups.
func (s *sheet) barsOf(title string, names []string, of func(i int) setup) *plot.Plot {
	var groups []plots.Group
	var styles []plots.Style
	for _, v := range compared {
		styles = append(styles, style(v))
	}
	for i, name := range names {
		g := plots.Group{Name: name}
		for _, v := range compared {
			u := of(i)
			u.variant = v
			g.Values = append(g.Values, s.of(u).value)
		}
		groups = append(groups, g)
	}
	return plots.Bars(title, roundAxis, styles, groups)
}

// ended finishes a figure if its simulations have succeeded.
func (s *sheet) ended(where, title, about string, p *plot.Plot) (plotted, error) {
	if s.err != nil {
		return plotted{}, s.err
	}
	return finish(where, title, about, p)
}

func (l *lab) drawPingpong() (plotted, error) {
	s := &sheet{lab: l}
	const title = "Ping-pong, round trip"
	return s.ended("7", title, "", plots.OverSizes(title, "there and back, us", s.curvesOf(pair("pingpong", sameQFDB),
		pingpongSizes)))
}

func (l *lab) draw9a() (plotted, error) {
	s := &sheet{lab: l}
	var names []string
	for _, o := range ordersOf9a {
		names = append(names, fmt.Sprintf("X = %g", o.x))
	}
	const title = "Progress benchmark, (0,0,60,X,0,0), 30 KB"
	return s.ended("9a", title, "The sender comes first and computes after the send.",
		s.barsOf(title, names, func(i int) setup {
			u := inOrderOf(ordersOf9a[i].name)
			u.size = mediumBytes
			return u
		}))
}

func (l *lab) draw9b() (plotted, error) {
	s := &sheet{lab: l}
	var names []string
	for _, size := range mediumSizes {
		names = append(names, kilobytes(size))
	}
	const title = "Progress benchmark, (0,20,0,5,5,20)"
	return s.ended("9b", title, "The sender comes first, and both compute before they wait.",
		s.barsOf(title, names, func(i int) setup {
			u := inOrderOf("9b")
			u.size = mediumSizes[i]
			return u
		}))
}

func (l *lab) drawLarge(order string) (plotted, error) {
	s := &sheet{lab: l}
	title := "Progress benchmark, (20,20,20,0,0,0)"
	about := "The receiver comes first, and the sender computes before it waits."
	if order == "10b" {
		title = "Progress benchmark, (27,0,0,20,20,20)"
		about = "The receiver comes first, and computes before it waits."
	}
	return s.ended(order, title, about, plots.OverSizes(title, roundAxis, s.curvesOf(inOrderOf(order), largeSizes)))
}

// drawBackground shows all orders with progress while ranks compute, which the paper's libraries have not.
func (l *lab) drawBackground(size int) (plotted, error) {
	s := &sheet{lab: l}
	var names []string
	for _, o := range bench.Orders {
		names = append(names, o.Name)
	}
	title := "Progress benchmark with progress in the background, " + kilobytes(size)
	return s.ended("", title, "What our protocols do by default: a message that arrives is answered while the rank "+
		"computes.", s.barsOf(title, names, func(i int) setup {
		u := inOrderOf(names[i])
		u.size, u.background = size, true
		return u
	}))
}

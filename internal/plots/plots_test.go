package plots

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

var textOf = regexp.MustCompile(`<text x="([\d.]+)" y="([^"]*)" transform="scale\(1, ` +
	`-1\)"\s+style="font-family:([^;]*);[^"]*font-size:(\d+)px">([^<]*)<`)

// No label leaves the page, not even in a font that is wider by a quarter than the one
// that the plot is laid out for.
func TestLabelsStayOnThePage(t *testing.T) {
	for name, p := range map[string]*plot.Plot{
		"curves": Curves("T", "x", "y", plot.TickerFunc(Decades),
			[]Curve{{Style{Name: "a"}, plotter.XYs{{X: 1, Y: 0.1}, {X: 10000, Y: 1e6}}}}),
		"bars": Bars("T", "y", []Style{{Name: "a long name of what is compared"}},
			[]Group{{"first", []float64{1e6}}, {"last", []float64{3}}}),
		"marks": Marks("T", "y", []Style{{Name: "a long name of what is compared"}},
			[]Group{{"first", []float64{1e6}}, {"last", []float64{3}}}),
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := SVG(p)
			require.NoError(t, err)
			texts := textOf.FindAllStringSubmatch(string(svg), -1)
			require.Greater(t, len(texts), 5)
			for _, m := range texts {
				x, err := strconv.ParseFloat(m[1], 64)
				require.NoError(t, err)
				size, err := strconv.ParseFloat(m[4], 64)
				require.NoError(t, err)
				face := font.DefaultCache.Lookup(plot.DefaultFont, vg.Points(size))
				require.Less(t, x+1.25*face.Width(m[5]).Points(), (17 * vg.Centimeter).Points(), m[5])
				require.Contains(t, m[3], "sans-serif")
			}
		})
	}
}

// Names of groups lie beside each other.
func TestNamesOfGroupsAreApart(t *testing.T) {
	var groups []Group
	for _, n := range []string{"16", "64", "128"} {
		groups = append(groups, Group{n + " ranks, send", []float64{1}}, Group{n + " ranks, receive", []float64{2}})
	}
	svg, err := SVG(Bars("T", "y", []Style{{Name: "a"}}, groups))
	require.NoError(t, err)
	ends := map[string]float64{} // of the last name on a line
	seen := 0
	for _, m := range textOf.FindAllStringSubmatch(string(svg), -1) {
		if !regexp.MustCompile(`^(\d+ ranks.*|send|receive)$`).MatchString(m[5]) {
			continue
		}
		seen++
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		require.Greater(t, x, ends[m[2]], m[5])
		face := font.DefaultCache.Lookup(plot.DefaultFont, vg.Points(10))
		ends[m[2]] = x + face.Width(m[5]).Points()
	}
	require.GreaterOrEqual(t, seen, len(groups))
}

// labelled returns the labels of an axis, which differ.
func labelled(t *testing.T, a plot.Axis) (labels []string) {
	for _, k := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		require.GreaterOrEqual(t, k.Value, a.Min*0.999)
		require.LessOrEqual(t, k.Value, a.Max*1.001)
		if k.Label != "" {
			require.NotContains(t, labels, k.Label)
			labels = append(labels, k.Label)
		}
	}
	return labels
}

// A logarithmic axis has two labels at least, whatever it spans, and not more than there is room for.
func TestLogarithmicAxesAreLabelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		least := math.Pow(10, rng.Float64()*8-3)
		most := least * (1 + math.Pow(10, rng.Float64()*8-2))
		one := []Curve{{Style{Name: "a"}, plotter.XYs{{X: 1, Y: least}, {X: 4096, Y: most}}}}
		two := []Group{{"first", []float64{least}}, {"last", []float64{most}}}
		for _, p := range []*plot.Plot{OverSizes("T", "y", one), Marks("T", "y", []Style{{Name: "a"}}, two)} {
			require.LessOrEqual(t, p.Y.Min, least)
			require.GreaterOrEqual(t, p.Y.Max, most)
			labels := labelled(t, p.Y)
			require.GreaterOrEqual(t, len(labels), 2, "%g to %g: %v", least, most, labels)
			require.LessOrEqual(t, len(labels), 14, "%g to %g: %v", least, most, labels)
		}
	}
	for least := 1.0; least < 1<<20; least *= 2 {
		for most := 8 * least; most <= 1<<24; most *= 2 {
			one := []Curve{{Style{Name: "a"}, plotter.XYs{{X: least, Y: 1}, {X: most, Y: 2}}}}
			labels := labelled(t, OverSizes("T", "y", one).X)
			require.GreaterOrEqual(t, len(labels), 2, "%g to %g: %v", least, most, labels)
		}
	}
}

// Names of points lie on no other and on no point, and none is left out, even where points are crowded.
func TestNamesOfPointsAreApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	page := vg.Rectangle{Max: vg.Point{X: 450, Y: 200}}
	for range 50 {
		var dots []vg.Point
		var names []string
		var widths []vg.Length
		for i := range 60 {
			dots = append(dots, vg.Point{X: vg.Length(225 + 60*rng.NormFloat64()),
				Y: vg.Length(100 + 25*rng.NormFloat64())})
			names, widths = append(names, strconv.Itoa(i/2)), append(widths, 8)
		}
		boxes := place(dots, names, widths, page)
		for i, a := range boxes {
			if a == (vg.Rectangle{}) {
				require.Equal(t, names[i], names[i-1])
				near := dots[i].Sub(dots[i-1])
				require.Less(t, math.Hypot(float64(near.X), float64(near.Y)), 10.)
				continue
			}
			require.True(t, free(a, boxes[:i]))
			for _, d := range dots {
				require.False(t, d.X > a.Min.X && d.X < a.Max.X && d.Y > a.Min.Y && d.Y < a.Max.Y)
			}
		}
	}
}

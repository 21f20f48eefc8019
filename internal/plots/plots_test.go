package plots

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

var textOf = regexp.MustCompile(`<text x="([\d.]+)" y="[^"]*" transform="scale\(1, ` +
	`-1\)"\s+style="font-family:([^;]*);[^"]*font-size:(\d+)px">([^<]*)<`)

// No label leaves the page, not even in a font that is wider by a quarter than the one
// that the plot is laid out for.
func TestLabelsStayOnThePage(t *testing.T) {
	for name, p := range map[string]*plot.Plot{
		"curves": Curves("T", "x", "y", plot.TickerFunc(Decades),
			[]Curve{{Style{Name: "a"}, plotter.XYs{{X: 1, Y: 0.1}, {X: 10000, Y: 1e6}}}}),
		"bars": Bars("T", "y", []Style{{Name: "a long name of what is compared"}},
			[]Group{{"first", []float64{1e6}}, {"last", []float64{3}}}, true),
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := SVG(p)
			require.NoError(t, err)
			texts := textOf.FindAllStringSubmatch(string(svg), -1)
			require.Greater(t, len(texts), 5)
			for _, m := range texts {
				x, err := strconv.ParseFloat(m[1], 64)
				require.NoError(t, err)
				size, err := strconv.ParseFloat(m[3], 64)
				require.NoError(t, err)
				face := font.DefaultCache.Lookup(plot.DefaultFont, vg.Points(size))
				require.Less(t, x+1.25*face.Width(m[4]).Points(), (17 * vg.Centimeter).Points(), m[4])
				require.Contains(t, m[2], "sans-serif")
			}
		})
	}
}

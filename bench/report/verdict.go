package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/plots"
)

// state is what can be said of a bound.
type state int

const (
	kept state = iota
	unmeasured
	broken
)

func (s state) String() string { return [...]string{"kept", "not measured", "**not kept**"}[s] }

// verdict is a row of the table of bounds.
type verdict struct {
	what, bound string
	cells       []cell
}

// cell is what was measured for a verdict against one MPI, or "" for none.
type cell struct {
	against string
	text    string
	state   state
}

// state is the worst of the cells'.
func (v verdict) state() state {
	worst := kept
	for _, c := range v.cells {
		worst = max(worst, c.state)
	}
	if len(v.cells) == 0 {
		return unmeasured
	}
	return worst
}

// opponent is an MPI, and this one preloaded under it.
type opponent struct{ alone, ours string }

var opponents = []opponent{{mpichAlone, mpichOurs}, {openmpiAlone, openmpiOurs}}

// point is a ratio at a place: a size, or a collective and a size.
type point struct {
	at    string
	size  int
	ratio float64
	ours  *Figure
}

// column says where figures are.
type column struct{ section, job, table, column string }

func (s Set) series(c column, way string) []*Figure {
	return s.all(c.section, c.job, way, c.table, c.column)
}

// points returns our ratios to a base for all sizes of a column; without figures of
// either, it says why.
func (s Set) points(c column, ours string, base func(size int) (*Figure, string)) (list []point, why string) {
	figures := s.series(c, ours)
	if figures == nil {
		return nil, s.why(c.section, c.job, ours)
	}
	for _, f := range figures {
		b, why := base(f.Size)
		if b == nil {
			return nil, why
		}
		list = append(list, point{plots.SizeName(f.Size), f.Size, ratio(f, b), f})
	}
	return list, ""
}

// against is a base: that of one way.
func (s Set) against(c column, way string) func(int) (*Figure, string) {
	return func(size int) (*Figure, string) {
		f := s.one(c.section, c.job, way, c.table, c.column, size)
		if f == nil {
			return nil, s.why(c.section, c.job, way)
		}
		return f, ""
	}
}

// better is a base: the better of the MPIs, which has more if more is better.
func (s Set) better(c column, more bool) func(int) (*Figure, string) {
	return func(size int) (best *Figure, why string) {
		for _, o := range opponents {
			f := s.one(c.section, c.job, o.alone, c.table, c.column, size)
			if f == nil {
				why = s.why(c.section, c.job, o.alone)
			} else if best == nil || f.median() > best.median() == more {
				best = f
			}
		}
		return best, why
	}
}

// judge describes ratios, and names those that do not keep the bound of each place;
// the geometric mean must keep that of mean, if there is one.
func judge(list []point, each func(point) bool, mean func(float64) bool) cell {
	var all []float64
	var bad []string
	for _, p := range list {
		all = append(all, p.ratio)
		if !each(p) {
			bad = append(bad, fmt.Sprintf("%s (%s)", p.at, ratioName(p.ratio)))
		}
	}
	text := ratioName(list[0].ratio)
	if len(list) > 1 {
		text = fmt.Sprintf("%s to %s, mean %s", ratioName(slices.Min(all)), ratioName(slices.Max(all)), ratioName(geometricMean(all)))
	}
	c := cell{text: text}
	if mean != nil && !mean(geometricMean(all)) {
		c.state = broken
		c.text += "; the mean is not kept"
	}
	if len(bad) > 0 {
		c.state = broken
		if len(list) > 1 {
			c.text += "; not kept at " + some(bad, 6)
		}
	}
	return c
}

// some lists the first few.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most-1], ", "), len(list)-most+1)
}

// missing is the cell of what has no figures: if it is our doing, the bound is not kept.
func missing(why string) cell {
	c := cell{text: why, state: unmeasured}
	for _, ours := range []string{mpichOurs, openmpiOurs, inGo} {
		if strings.HasPrefix(why, ours+": ") {
			c.state = broken
		}
	}
	return c
}

// eachOpponent makes a verdict with a cell for each.
func eachOpponent(what, bound string, judge func(o opponent) cell) verdict {
	v := verdict{what: what, bound: bound}
	for _, o := range opponents {
		c := judge(o)
		c.against = o.alone
		v.cells = append(v.cells, c)
	}
	return v
}

// ratioName writes small ratios as 1/N.
func ratioName(r float64) string {
	if r > 0 && r < 0.02 {
		return fmt.Sprintf("1/%.0f", 1/r)
	}
	return fmt.Sprintf("%.2f", r)
}

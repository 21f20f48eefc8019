package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// state is what can be said of a bound.
type state int

const (
	kept state = iota
	unmeasured
	noise // the spread of the rounds is larger than the distance from the bound
	broken
)

func (s state) String() string {
	return [...]string{"kept", "not measured", "noise", "not kept"}[s]
}

// interval is a number and where the middle half of the rounds have it.
type interval struct{ value, low, high float64 }

// between is the interval of a value whose rounds these are. With fewer than three rounds nobody
// knows: they may be anything.
func between(value float64, rounds []float64) interval {
	if len(rounds) < 3 {
		return interval{value, math.Inf(-1), math.Inf(1)}
	}
	s := slices.Sorted(slices.Values(rounds))
	return interval{value, min(value, quantile(s, 0.25)), max(value, quantile(s, 0.75))}
}

// quantile interpolates in a sorted list.
func quantile(s []float64, q float64) float64 {
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// within says whether the number is at most a limit, or at least that if more is better.
func (x interval) within(limit float64, more bool) state {
	if more {
		x, limit = interval{-x.value, -x.high, -x.low}, -limit
	}
	switch {
	case limit == math.Inf(1) || x.high <= limit:
		return kept
	case x.low > limit:
		return broken
	}
	return noise
}

// measure is what is held against a bound, made of our figure and that of the other.
type measure int

const (
	ratio measure = iota
	difference
	absolute
)

func (m measure) of(ours, theirs float64) float64 {
	switch m {
	case ratio:
		return ours / theirs
	case difference:
		return ours - theirs
	}
	return ours
}

// sign stands between the two figures.
func (m measure) sign() string {
	return [...]string{ratio: "/", difference: " - ", absolute: " against "}[m]
}

// point is a measure at a place: a size, or a collective and a size.
type point struct {
	at           string
	ours, theirs *figure // theirs may be nil if the measure is absolute
	interval
	rounds []float64
	limit  float64
}

// newPoint is made of the medians, and each round. A way that was run once counts in all.
func newPoint(at string, m measure, ours, theirs *figure, limit float64) point {
	p := point{at: at, ours: ours, theirs: theirs, limit: limit}
	other := func(round int) float64 {
		if theirs == nil {
			return 0
		}
		return theirs.Repeats[min(round, len(theirs.Repeats)-1)]
	}
	median := 0.0
	if theirs != nil {
		median = theirs.median()
	}
	for i, v := range ours.Repeats {
		p.rounds = append(p.rounds, m.of(v, other(i)))
	}
	p.interval = between(m.of(ours.median(), median), p.rounds)
	return p
}

// mean is the geometric mean of the values of points.
func mean(list []point) interval {
	n := math.MaxInt
	for _, p := range list {
		n = min(n, len(p.rounds))
	}
	geometric := func(of func(p point) float64) float64 {
		sum := 0.0
		for _, p := range list {
			sum += math.Log(of(p))
		}
		return math.Exp(sum / float64(len(list)))
	}
	var rounds []float64
	for i := range n {
		rounds = append(rounds, geometric(func(p point) float64 { return p.rounds[i] }))
	}
	return between(geometric(func(p point) float64 { return p.value }), rounds)
}

// cell is what was measured for a row against one opponent.
type cell struct {
	text  string
	state state
}

// judge describes points: their mean, the worst, and how many are not within their limits, or not surely.
func judge(list []point, b bound) cell {
	var c cell
	beyond := map[state]int{}
	worst := list[0]
	for _, p := range list {
		if b.more == (p.value < worst.value) && p.value != worst.value {
			worst = p
		}
		s := p.within(p.limit, b.more)
		c.state = max(c.state, s)
		beyond[s]++
	}
	c.text = worst.text(b, len(list) > 1)
	if len(list) == 1 {
		return c
	}
	c.text = "worst " + c.text
	if b.of == ratio {
		m, said := mean(list), ""
		if s := m.within(b.mean, b.more); b.mean > 0 && s != kept {
			c.state, said = max(c.state, s), fmt.Sprintf(" (%v)", s)
		}
		c.text = fmt.Sprintf("mean %s%s, %s", b.name(m.value), said, c.text)
	}
	for _, s := range []state{broken, noise} {
		if beyond[s] > 0 {
			c.text += fmt.Sprintf("; %d %v", beyond[s], s)
		}
	}
	return c
}

// text is the value, the medians that it is made of and, if that is asked for, the place.
func (p *point) text(b bound, place bool) string {
	unit := ""
	if _, rest, ok := strings.Cut(p.ours.Column, "("); ok {
		unit = " " + strings.TrimSuffix(rest, ")")
	}
	text := number(p.ours.median())
	if p.theirs != nil {
		text += b.of.sign() + number(p.theirs.median())
	}
	text += unit
	switch {
	case b.of == absolute && place:
		return fmt.Sprintf("%s (%s)", text, p.at)
	case b.of == absolute:
		return text
	case place:
		text += ", " + p.at
	}
	return fmt.Sprintf("%s (%s)", b.name(p.value), text)
}

// number writes three digits or more.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

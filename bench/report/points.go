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
	return [...]string{"kept", "not measured", "noise", "**not kept**"}[s]
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
type measure func(ours, theirs float64) float64

func ratio(ours, theirs float64) float64    { return ours / theirs }
func more(ours, theirs float64) float64     { return ours - theirs }
func absolute(ours, theirs float64) float64 { return ours }

// point is a measure at a place: a size, or a collective and a size.
type point struct {
	at           string
	ours, theirs *figure // theirs may be nil if the measure is absolute
	interval
	rounds []float64
	limit  float64
}

// newPoint measures the medians, and each round. A way that was run once counts in all.
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
		p.rounds = append(p.rounds, m(v, other(i)))
	}
	p.interval = between(m(ours.median(), median), p.rounds)
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

// judge describes points, and names those that are not within their limits, or not surely.
func judge(list []point, b bound) cell {
	var c cell
	named := map[state][]string{}
	worst := list[0]
	for _, p := range list {
		if b.more == (p.value < worst.value) && p.value != worst.value {
			worst = p
		}
		if s := p.within(p.limit, b.more); s != kept {
			c.state = max(c.state, s)
			named[s] = append(named[s], p.at+" ("+b.name(p.value)+")")
		}
	}
	c.text = fmt.Sprintf("%s (%s)", b.name(worst.value), worst.medians(b))
	if len(list) > 1 {
		c.text = fmt.Sprintf("worst %s (%s: %s)", b.name(worst.value), worst.at, worst.medians(b))
		if b.of == nil {
			m := mean(list)
			c.text = fmt.Sprintf("mean %s, ", b.name(m.value)) + c.text
			if b.mean > 0 {
				if s := m.within(b.mean, b.more); s != kept {
					c.state = max(c.state, s)
					named[s] = append([]string{"the mean"}, named[s]...)
				}
			}
		}
		for _, s := range []state{broken, noise} {
			if named[s] != nil {
				c.text += fmt.Sprintf("; %s: %s", strings.Trim(s.String(), "*"), some(named[s], 3))
			}
		}
	}
	return c
}

// medians are those that a value is made of.
func (p *point) medians(b bound) string {
	unit := ""
	if _, rest, ok := strings.Cut(p.ours.Column, "("); ok {
		unit = " " + strings.TrimSuffix(rest, ")")
	}
	if p.theirs == nil {
		return number(p.ours.median()) + unit
	}
	return number(p.ours.median()) + " to " + number(p.theirs.median()) + unit
}

// some lists the first few.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most-1], ", "), len(list)-most+1)
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

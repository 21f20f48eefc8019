package reproduce

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Rule is how figures and claims are held against each other, for the report.
const Rule = `<ul>
<li>A row agrees if what is simulated has the sign of the text's number and a magnitude within a factor of two
of it: from half of it to twice it. Differences are in percent of the time (or bandwidth) of the second of the two that
are compared.</li>
<li>Over several sizes the mean counts. Where the text says <i>up to</i>, the largest in the text's direction counts,
over all sizes and all numbers of ranks.</li>
<li>A range <i>a to b</i> is met from half of <i>a</i> to twice <i>b</i>.</li>
<li>Where the text has several numbers of ranks or several variants, each must agree, with its own
number if it has one.</li>
<li><i>Less than, at most, below x</i>: the mean has the sign of <i>x</i>, and none is beyond twice <i>x</i>.
For shares, 0 is below.</li>
<li><i>&lt;0</i> and <i>&gt;0</i>: the mean has that sign and is at least half a percent.</li>
<li>An expected 0 is met by less than 5 points.</li>
<li>Rows of kind exact hold if the control messages are those of the text, no more and no fewer.</li>
<li>What is not built disagrees.</li>
</ul>`

// form is how the text means its number.
type form int

const (
	plain  form = iota // the mean over the sizes
	upTo               // the largest in the direction of the number
	atMost             // nowhere beyond it
	sign               // <0, >0
	zero
)

// span is a number or a range of them, by magnitude.
type span struct{ least, most float64 }

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprintf("%+g", s.least)
	}
	return fmt.Sprintf("%+g to %+g", s.least, s.most)
}

// expectation is what a claim expects: one span, or one for each of its groups (numbers of
// ranks, mostly).
type expectation struct {
	form  form
	spans []span
}

var (
	signed = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?`)
	dashed = regexp.MustCompile(`^([0-9.]+)-([0-9.]+)$`)
	word   = regexp.MustCompile(`[a-z]+$`)
)

// expectation reads what the text says.
func (c *Claim) expectation() (expectation, error) {
	first, _, _ := strings.Cut(c.Note, ";")
	var e expectation
	switch {
	case c.Expected == "<0":
		return expectation{sign, []span{{-1, -1}}}, nil
	case c.Expected == ">0":
		return expectation{sign, []span{{1, 1}}}, nil
	case c.Expected == "0":
		return expectation{form: zero}, nil
	case strings.HasPrefix(first, "up to"):
		e.form = upTo
	case strings.HasPrefix(first, "less than"), strings.HasPrefix(first, "at most"):
		e.form = atMost
	}
	for _, part := range strings.Split(c.Expected, "/") {
		part = strings.TrimSpace(word.ReplaceAllString(strings.TrimSpace(part), ""))
		if m := dashed.FindStringSubmatch(part); m != nil {
			part = m[1] + " to " + m[2]
		}
		least, most, isRange := strings.Cut(part, " to ")
		if !isRange {
			most = least
		}
		a, err := strconv.ParseFloat(signed.FindString(least), 64)
		b, err2 := strconv.ParseFloat(signed.FindString(most), 64)
		if err != nil || err2 != nil {
			return e, fmt.Errorf("%s: cannot read the number in %q", c.ID, c.Expected)
		}
		if math.Abs(a) > math.Abs(b) {
			a, b = b, a
		}
		e.spans = append(e.spans, span{a, b})
	}
	if c.Unit == "percent of receives" && strings.Contains(c.Note, "below") && len(e.spans) == 1 &&
		e.spans[0].most < 1 {
		// "0.1, and below 0.5": the largest number is the bound.
		i := strings.LastIndex(c.Note, "below ")
		if bound := signed.FindString(c.Note[i:]); bound != "" {
			v, _ := strconv.ParseFloat(bound, 64)
			e = expectation{atMost, []span{{v, v}}}
		}
	}
	return e, nil
}

// group is what was simulated under one circumstance: a figure for each size.
type group struct {
	name   string // "16 ranks", "readbased"; empty if there is only one
	values []float64
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// extreme is the value that is farthest in a direction.
func extreme(v []float64, direction float64) float64 {
	best := v[0]
	for _, x := range v {
		if x*direction > best*direction {
			best = x
		}
	}
	return best
}

// within reports whether v is met by half of the least to twice the most.
func (s span) within(v float64) bool {
	if v == 0 || math.Signbit(v) != math.Signbit(s.most) {
		return false
	}
	v = math.Abs(v)
	return v >= math.Abs(s.least)/2 && v <= math.Abs(s.most)*2
}

// point is what a row says and what came out, for the overview.
type point struct{ text, simulated float64 }

// points are the numbers that the rule compares; none where the text has only a sign.
func (e expectation) points(groups []group) (list []point) {
	if len(e.spans) == 0 || e.form == sign || e.form == atMost {
		return nil
	}
	var all []float64
	for i, g := range groups {
		s := e.spans[min(i, len(e.spans)-1)]
		list = append(list, point{(s.least + s.most) / 2, mean(g.values)})
		all = append(all, g.values...)
	}
	if e.form == upTo {
		return []point{{e.spans[0].most, extreme(all, e.spans[0].most)}}
	}
	return list
}

const (
	signLeast = 0.5 // percent that count as a difference
	zeroMost  = 5   // points that count as none
)

// agrees applies the rule, and says which figures it has compared.
func (e expectation) agrees(groups []group, share bool) (bool, string) {
	if len(groups) == 0 {
		return false, "-"
	}
	for _, g := range groups {
		if len(g.values) == 0 {
			return false, "-"
		}
	}
	if e.form == upTo {
		var all []float64
		for _, g := range groups {
			all = append(all, g.values...)
		}
		v := extreme(all, e.spans[0].most)
		return e.spans[0].within(v), number(v)
	}
	ok := true
	var texts []string
	for i, g := range groups {
		v := mean(g.values)
		text := number(v)
		switch e.form {
		case sign:
			ok = ok && v*e.spans[0].most >= signLeast
		case zero:
			ok = ok && math.Abs(v) < zeroMost
		case atMost:
			limit := e.spans[0].most
			worst := extreme(g.values, limit)
			ok = ok && (v*limit > 0 || share && v == 0) && math.Abs(worst) <= 2*math.Abs(limit)
			if share {
				ok = ok && math.Abs(worst) <= math.Abs(limit)
			}
		default:
			s := e.spans[0]
			if len(e.spans) > 1 {
				s = e.spans[min(i, len(e.spans)-1)]
			}
			ok = ok && s.within(v)
		}
		if g.name != "" {
			text = g.name + ": " + text
		}
		texts = append(texts, text)
	}
	return ok, strings.Join(texts, "; ")
}

// number writes a figure as the report has it: two digits behind the point below 10, one below 100.
func number(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case a < 10:
		digits = 2
	case a < 100:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return text
}

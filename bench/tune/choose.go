package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/exanet-mpi/exanet/coll"
)

// better is the fraction of the time that an algorithm must need to take the place of
// the one that the table has, and surely the fraction of the rounds in which it must be
// the faster one: less would be noise.
const (
	better = 0.9
	surely = 0.8
)

// Row is a row of the table, and by how much the algorithm beats the one that the
// built-in table has for these calls: the geometric mean over the sizes that it is for.
type Row struct {
	coll.Row
	Ratio float64
}

// Choose makes rows of figures, for each collective from the lowest number of ranks on, up to
// the largest size that was measured.
// Where the built-in table is as good there are none.
func Choose(all []*Figures) []Row {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Figures) int { return cmp.Compare(a.Ranks, b.Ranks) })
	var rows []Row
	for op := range coll.Collectives {
		var own, more []Row // up to a number of ranks whose figures ask for rows
		for _, f := range sorted {
			if f.Collective != op.String() {
				continue
			}
			made, differs := f.rows(op)
			if more = append(more, made...); differs {
				own = slices.Clone(more)
			}
		}
		rows = append(rows, own...)
	}
	return rows
}

// pick is what is chosen for a size: for blocking calls where there is shared memory,
// and for the others.
type pick struct {
	upTo            int // bytes as the table counts them
	best, messages  int // curves
	gain, otherGain float64
}

// rows makes the rows of a collective for at most the ranks of the figures, and reports
// whether they say another thing than the built-in table.
func (f *Figures) rows(op coll.Collective) (rows []Row, differ bool) {
	picks := f.picks(op)
	row := func(bytes, curve int, gain float64) {
		r := coll.Row{Op: op, Rule: coll.Rule{Bytes: bytes, Ranks: f.Ranks, Algorithm: f.Curves[curve].Algorithm}}
		rows = append(rows, Row{r, gain})
	}
	board := func(p pick) string { // the algorithm, if it is on a board
		if a := f.Curves[p.best].Algorithm; coll.InMemory(a) {
			return a
		}
		return ""
	}
	for len(picks) > 0 {
		run := 1
		for run < len(picks) && board(picks[run]) == board(picks[0]) {
			run++
		}
		if board(picks[0]) != "" {
			row(picks[run-1].upTo, picks[0].best, mean(picks[:run], func(p pick) float64 { return p.gain }))
		}
		for from := 0; from < run; {
			to := from + 1
			for to < run && picks[to].messages == picks[from].messages {
				to++
			}
			row(picks[to-1].upTo, picks[from].messages,
				mean(picks[from:to], func(p pick) float64 { return p.otherGain }))
			from = to
		}
		for _, p := range picks[:run] {
			differ = differ || p.gain != 1 || p.otherGain != 1
		}
		picks = picks[run:]
	}
	for i := len(rows) - 2; i >= 0; i-- {
		if a := rows[i].Algorithm; a == rows[i+1].Algorithm && !coll.InMemory(a) {
			rows = slices.Delete(rows, i, i+1)
		}
	}
	return rows, differ
}

// picks chooses for each size; for one that stands for all where the ranks do not know
// a size.
func (f *Figures) picks(op coll.Collective) []pick {
	var picks []pick
	unit := 1
	if op == coll.Allgatherv { // which counts all blocks together
		unit = f.Ranks
	}
	for i, r := range f.Curves[0].Rows {
		if i > 0 { // between two sizes it is the built-in table that knows best
			p := &picks[i-1]
			for _, rule := range coll.Rules(op) {
				if rule.Bytes > p.upTo && rule.Bytes < r.Size*unit {
					p.upTo = rule.Bytes
				}
			}
		}
		picks = append(picks, f.pick(op, r.Size*unit, picks, i, i+1))
	}
	if op.Sized() {
		return picks
	}
	return []pick{f.pick(op, 0, nil, 0, len(f.Curves[0].Rows))}
}

// time is what a curve has for the sizes from one to another, in microseconds: their
// geometric mean, of figures that are no less than clocks tell.
func (f *Figures) time(curve, from, to int) float64 {
	sum := 0.0
	for _, r := range f.Curves[curve].Rows[from:to] {
		sum += math.Log(max(r.Value, 1e-3))
	}
	return math.Exp(sum / float64(to-from))
}

// beats reports whether a curve is below another in most rounds.
func (f *Figures) beats(curve, other, from, to int) bool {
	won, of := 0, 0
	for i := from; i < to; i++ {
		theirs := f.Curves[other].Rows[i].Repeats
		for k, v := range f.Curves[curve].Rows[i].Repeats {
			if of++; v < theirs[k] {
				won++
			}
		}
	}
	return float64(won) >= surely*float64(of)
}

// pick chooses for a size, or for all from one to another. What the built-in table has
// counts first, then what has been chosen for the size before.
func (f *Figures) pick(op coll.Collective, bytes int, before []pick, from, to int) pick {
	time := func(curve int) float64 { return f.time(curve, from, to) }
	board, other := coll.BuiltIn(op, bytes, f.Ranks)
	fastest := func(builtIn string, may func(curve int) bool, last func(p pick) int) (curve int, gain float64) {
		at := slices.IndexFunc(f.Curves, func(c Curve) bool { return c.Algorithm == builtIn })
		best := at
		for i := range f.Curves {
			if may(i) && time(i) < time(best) && f.beats(i, at, from, to) {
				best = i
			}
		}
		if time(best) > better*time(at) {
			best = at
		} else if n := len(before); n > 0 && may(last(before[n-1])) && f.beats(last(before[n-1]), at, from, to) &&
			time(best) > better*time(last(before[n-1])) {
			best = last(before[n-1])
		}
		if best == at {
			return at, 1
		}
		return best, time(best) / time(at)
	}
	p := pick{upTo: bytes}
	p.messages, p.otherGain = fastest(other, func(i int) bool { return !coll.InMemory(f.Curves[i].Algorithm) },
		func(p pick) int { return p.messages })
	p.best, p.gain = fastest(board, func(int) bool { return true }, func(p pick) int { return p.best })
	if !coll.InMemory(f.Curves[p.best].Algorithm) { // one row is for both kinds of calls
		p.messages, p.otherGain = p.best, p.gain
	}
	return p
}

func mean(picks []pick, of func(p pick) float64) float64 {
	sum := 0.0
	for _, p := range picks {
		sum += math.Log(of(p))
	}
	return math.Exp(sum / float64(len(picks)))
}

package reproduce

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/exanet-mpi/exanet/emu/sim"
)

// fitted are the constants that the rows of kind calibration fix; see emu/sim for what they
// are. All others come from a source or are zero.
var fitted = []string{"call", "object", "dequeue", "allocate", "write_start", "hop_outside"}

// target is a number that a calibration row expects.
type target struct {
	id, name string
	want     float64
}

// Fit is a set of constants, and how well they meet the rows that they are fitted to.
type Fit struct {
	Costs     sim.Costs
	Constants []FittedConstant
	Targets   []FittedTarget
	Error     float64 // root of the mean square of the relative errors
	Rounds    int
}

// FittedConstant is one of the constants.
type FittedConstant struct {
	Name, Meaning, Unit string
	Value               float64
	Rows                []string // of kind calibration, in the order in which they depend on it: those that fix it
}

// FittedTarget is one number of the rows.
type FittedTarget struct {
	ID, Name        string
	Want, Simulated float64
}

// FitConstants fits constants of the simulated fabric to the rows of kind calibration, by least squares of the
// relative errors (Levenberg-Marquardt, derivatives by differences), from the constants given. It sees no other
// row. A constant does not become negative.
func FitConstants(ctx context.Context, from sim.Costs) (*Fit, error) {
	x := make([]float64, len(fitted))
	for i, name := range fitted {
		x[i] = *from.Named(name)
	}
	at := func(x []float64) sim.Costs {
		c := from
		for i, name := range fitted {
			*c.Named(name) = x[i]
		}
		return c
	}
	targets, sims, err := calibrations(ctx, at(x))
	if err != nil {
		return nil, err
	}
	residuals := func(sims []float64) []float64 {
		r := make([]float64, len(sims))
		for i, t := range targets {
			r[i] = (sims[i] - t.want) / math.Abs(t.want)
		}
		return r
	}
	r := residuals(sims)
	jacobian := func() ([][]float64, error) {
		columns := make([][]float64, len(x))
		for j := range x {
			y := slices.Clone(x)
			h := max(2, 0.02*x[j])
			y[j] += h
			_, s, err := calibrations(ctx, at(y))
			if err != nil {
				return nil, err
			}
			columns[j] = residuals(s)
			for i := range columns[j] {
				columns[j][i] = (columns[j][i] - r[i]) / h
			}
		}
		return columns, nil
	}
	damping, rounds := 1e-3, 0
	var columns [][]float64
	for ; rounds < fitRounds; rounds++ {
		if columns, err = jacobian(); err != nil {
			return nil, err
		}
		better := false
		for range 8 {
			y := step(x, columns, r, damping)
			_, s, err := calibrations(ctx, at(y))
			if err != nil {
				return nil, err
			}
			if q := residuals(s); rootMeanSquare(q) < rootMeanSquare(r)*(1-1e-4) {
				x, r, sims, better = y, q, s, true
				damping /= 4
				break
			}
			damping *= 4
		}
		if !better {
			break
		}
	}
	f := &Fit{Costs: at(x), Error: rootMeanSquare(r), Rounds: rounds}
	for i, t := range targets {
		f.Targets = append(f.Targets, FittedTarget{t.id, t.name, t.want, sims[i]})
	}
	for _, c := range f.Costs.Table() {
		if j := slices.Index(fitted, c.Name); j >= 0 {
			f.Constants = append(f.Constants, FittedConstant{c.Name, c.Meaning, c.Unit, *c.Value,
				fixing(targets, columns[j], x[j])})
		}
	}
	return f, nil
}

const fitRounds = 12

// fixing are the rows that depend on a constant: doubling it would move them by a twentieth or more.
func fixing(targets []target, column []float64, value float64) (ids []string) {
	weight := map[string]float64{}
	for i, t := range targets {
		weight[t.id] = max(weight[t.id], math.Abs(column[i]*value))
	}
	for id, w := range weight {
		if w >= 0.05 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if weight[a] != weight[b] {
			if weight[a] > weight[b] {
				return -1
			}
			return 1
		}
		return len(a) - len(b)
	})
	return ids
}

func rootMeanSquare(r []float64) float64 {
	sum := 0.0
	for _, v := range r {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(r)))
}

// step solves (J'J + damping diag(J'J)) d = -J'r and returns x + d, not below zero.
func step(x []float64, columns [][]float64, r []float64, damping float64) []float64 {
	n := len(x)
	a, b := make([][]float64, n), make([]float64, n)
	for i := range n {
		a[i] = make([]float64, n)
		for j := range n {
			a[i][j] = dot(columns[i], columns[j])
		}
		b[i] = -dot(columns[i], r)
	}
	for i := range n {
		a[i][i] += damping*a[i][i] + 1e-12
	}
	d := solve(a, b)
	y := make([]float64, n)
	for i := range y {
		y[i] = max(0, x[i]+d[i])
	}
	return y
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// solve is Gauss' elimination with pivots, in place.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
		if a[k][k] == 0 {
			continue
		}
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			for j := k; j < n; j++ {
				a[i][j] -= f * a[k][j]
			}
			b[i] -= f * b[k]
		}
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		sum := b[k]
		for j := k + 1; j < n; j++ {
			sum -= a[k][j] * x[j]
		}
		if a[k][k] != 0 {
			x[k] = sum / a[k][k]
		}
	}
	return x
}

// calibrations simulates the rows of kind calibration.
func calibrations(ctx context.Context, costs sim.Costs) (targets []target, sims []float64, err error) {
	claims, err := Claims(Thesis)
	if err != nil {
		return nil, nil, err
	}
	s := &sheet{lab: newLab(costs, false)}
	for i := range claims {
		c := &claims[i]
		if c.Kind != Calibration {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, nil, err
		}
		e, err := c.expectation()
		if err != nil {
			return nil, nil, err
		}
		for j, g := range rows[c.ID].groups(s) {
			if s.err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.ID, s.err)
			}
			x := e.spans[min(j, len(e.spans)-1)]
			targets = append(targets, target{c.ID, g.name, (x.least + x.most) / 2})
			sims = append(sims, mean(g.values))
		}
	}
	return targets, sims, nil
}

// Write writes a fit as text.
func (f *Fit) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "constant\tvalue\tunit\tfixed by\n")
	for _, c := range f.Constants {
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\n", c.Name, c.Value, c.Unit, list(c.Rows))
	}
	fmt.Fprintf(t, "\t\t\t\nrow\twanted\tsimulated\t\n")
	for _, x := range f.Targets {
		name := x.ID
		if x.Name != "" {
			name += " " + x.Name
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", name, number(x.Want), number(x.Simulated))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nroot mean square of the relative errors: %.1f %%, after %d rounds\n", 100*f.Error,
		f.Rounds)
	return err
}

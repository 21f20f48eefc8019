// Package tune finds out which algorithm of a collective is the fastest on this
// machine, for each size and number of ranks, and makes rows of the table of package
// coll from that.
//
//	tune.go    measures, in a job
//	choose.go  chooses, and makes the rows
package tune

import (
	"fmt"
	"slices"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/mpi"
)

// Figures are the times of a collective's algorithms among so many ranks.
type Figures struct {
	Collective string  `json:"collective"`
	Ranks      int     `json:"ranks"`
	Curves     []Curve `json:"curves"`
}

// Curve is the time of an algorithm, in microseconds, for each size: that of the vector,
// or of the block of one rank. All curves have the same sizes, in rising order.
type Curve struct {
	Algorithm string      `json:"algorithm"`
	Rows      []bench.Row `json:"rows"`
}

// Collectives returns the names of the collectives that have several algorithms, and
// can be measured.
func Collectives() []string {
	measured := append(bench.Collectives(), coll.Barrier.String())
	var names []string
	for op := range coll.Collectives {
		if len(coll.Algorithms(op)) > 1 && slices.Contains(measured, op.String()) {
			names = append(names, op.String())
		}
	}
	return names
}

// Measure measures all algorithms of a collective in turn, among ranks of one host. All
// ranks call it; rank 0 gets the figures.
func Measure(world *mpi.Comm, name string, s bench.Sweep) (*Figures, error) {
	if !slices.Contains(Collectives(), name) {
		return nil, fmt.Errorf("there is nothing to measure of %q", name)
	}
	op := collectiveOf(name)
	s.Sizes = slices.Compact(slices.Sorted(slices.Values(s.Sizes)))
	if op == coll.Barrier {
		s.Sizes = []int{0}
	}
	f := &Figures{Collective: name, Ranks: world.Size()}
	var ways []*mpi.Comm
	for _, a := range coll.Algorithms(op) {
		if a.Name == coll.Leaders { // they are for several hosts
			continue
		}
		way, err := world.DupWithCollectives(name + ":" + a.Name)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way)
		f.Curves = append(f.Curves, Curve{Algorithm: a.Name})
	}
	rows, err := bench.InTurn(ways, name, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range rows {
		f.Curves[i].Rows = rows[i]
	}
	for _, way := range ways {
		if err := way.Free(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func collectiveOf(name string) (op coll.Collective) {
	for op.String() != name {
		op++
	}
	return op
}

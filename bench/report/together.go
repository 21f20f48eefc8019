package report

import (
	"context"
	"math"

	"github.com/exanet-mpi/exanet/bench/floor"
)

// The host of a virtual machine moves its processors, near to each other or not, within seconds, and then a short message takes
// several times as long, under every MPI. Runs that are compared are repeated when they have not found them in the same
// place: when a cache line's trip, before, between or behind them, has taken more than moved times as long as another. After so
// many tries they count as they are.
const (
	moved = 1.6
	tries = 5
)

// together makes the runs of a group, of a round, and adds what they have printed.
func (c *Config) together(ctx context.Context, s section, r *Results, group []run, round int) error {
	trip := c.trip
	if trip == nil {
		trip = floor.Trip
	}
	look := func() float64 {
		if group[0].job.beside == "" {
			return 0
		}
		ns, err := trip()
		if err != nil {
			return 0 // then nothing is known of where they are
		}
		return ns
	}
	for try := 1; ; try++ {
		part := new(Results)
		least, most := math.Inf(1), 0.0
		see := func() float64 {
			at := look()
			if at > 0 {
				least, most = min(least, at), max(most, at)
			}
			return at
		}
		at := see()
		for _, g := range group {
			c.step("exanet: %s (%s): round %d of %d, %s, %s", s.title, s.name, round+1, max(c.rounds(), g.job.least), g.job.name, g.way)
			if err := c.once(ctx, part, g.job, g.way, round); err != nil {
				return err
			}
			if at > 0 && part.Failures == nil {
				part.add(g.job.name, g.way, runTable, runTrip, 0, at)
			}
			at = see()
		}
		steady := most <= moved*least
		if !steady && try < tries && part.Failures == nil {
			r.Repeated++
			continue
		}
		if !steady {
			r.Moved++
		}
		r.take(part)
		return nil
	}
}

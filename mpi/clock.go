package mpi

import "time"

// Now is the caller's clock: the time since some moment in the past, which need not
// be the same for all ranks. In a simulation (package virtual) it is virtual time,
// elsewhere that of Wtime.
func (c *Comm) Now() time.Duration {
	if c == nil || c.rank == nil || c.rank.Virtual == nil {
		return time.Since(started)
	}
	return c.rank.Virtual.Now()
}

// Compute keeps the caller's processor busy for d, as a computation does: time passes
// in which only what goes on in the background makes progress. In a simulation it is
// virtual time.
func (c *Comm) Compute(d time.Duration) {
	if c == nil || c.rank == nil {
		return
	}
	if v := c.rank.Virtual; v != nil {
		v.Compute(d)
		return
	}
	for start := time.Now(); time.Since(start) < d; {
	}
}

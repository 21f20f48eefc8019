package mpi

import (
	"errors"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/mpi/internal/progress"
)

// withOutside is inside.Functions.WithOutside.
func withOutside(busy *atomic.Int64, poll func()) Option {
	return func(s *settings) error {
		if busy == nil || poll == nil {
			return errors.New("what is outside needs a count and a function")
		}
		s.outside = progress.Outside{Busy: busy, Poll: poll}
		return nil
	}
}

// wake is inside.Functions.Wake.
func (c *Comm) wake() {
	if c == nil || c.rank == nil {
		return
	}
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Nudge()
}

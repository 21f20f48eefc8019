package mpi

import (
	"errors"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/mpi/internal/progress"
)

// WithOutside lets the calls that wait also call poll, as long as busy is not 0.
// Who changes busy from 0 calls Wake.
func WithOutside(busy *atomic.Int64, poll func()) Option {
	return func(s *settings) error {
		if busy == nil || poll == nil {
			return errors.New("WithOutside needs a count and a function")
		}
		s.outside = progress.Outside{Busy: busy, Poll: poll}
		return nil
	}
}

// Wake makes the calls that sleep look at the count of WithOutside again.
func (c *Comm) Wake() {
	if c == nil || c.rank == nil {
		return
	}
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Nudge()
}

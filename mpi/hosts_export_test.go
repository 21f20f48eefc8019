package mpi

// WithRanksAHost makes so many ranks of Run one host.
func WithRanksAHost(n int) Option {
	return func(s *settings) error {
		s.device, s.aHost = deviceNetwork, n
		return nil
	}
}

// HasArea reports whether the ranks of a communicator share memory for collectives.
func HasArea(c *Comm) bool { return c.area != nil }

package mpi

import "github.com/exanet-mpi/exanet/variants/standing"

// withLikely is inside.Functions.WithLikely.
func withLikely() Option {
	return func(s *settings) error {
		s.likely = true
		return nil
	}
}

// standsAfter is how many receives of the same buffer the protocol standing wants to see.
func (s *settings) standsAfter() int {
	if s.likely {
		return 0
	}
	return standing.After
}

// stands is the size in bytes up to which the protocol standing sends without a rendezvous.
func stands(f fabric) int { return max(standing.Most, standing.Times*f.Limit()) }

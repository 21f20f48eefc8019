package mpi

import (
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// bands are those of the protocol customized that were best on a host: what fits a message is eager.
var bands = customized.Bands{Hybrid: 256 << 10}

// WithBands sets up to which size in bytes, inclusive, messages of the protocol customized are eager, and up to which a
// send that comes first leaves a copy and completes (Small and Yuan, ICS 2009; the paper's are customized.Paper). An
// eager size that is 0, or larger than the device's messages, is theirs. All ranks must give the same. The default is
// EXANET_BANDS.
func WithBands(eager, hybrid int) Option {
	return func(s *settings) error {
		if eager < 0 || hybrid < eager {
			return fmt.Errorf("bands to %d and %d bytes: want sizes, the second at least as large", eager, hybrid)
		}
		s.bands = customized.Bands{Eager: eager, Hybrid: hybrid}
		return nil
	}
}

// WithoutBackground leaves all progress to calls of MPI, as in the MPIs that Small and Yuan compare, and in theirs.
// It is for studies: a rank that computes answers nobody then, not even one that cancels.
func WithoutBackground() Option {
	return func(s *settings) error {
		s.still = true
		return nil
	}
}

// setBands sets those that no option has set. Other protocols have none.
func (s *settings) setBands() (err error) {
	if s.variant != "customized" {
		s.bands = customized.Bands{}
		return nil
	}
	if s.bands != (customized.Bands{}) {
		return nil
	}
	s.bands = bands
	if text := os.Getenv(env.Bands); text != "" {
		if s.bands, err = customized.BandsOf(text); err != nil {
			return initError(fmt.Errorf("%s: %w", env.Bands, err), "give two sizes, or none")
		}
	}
	return nil
}

package mpi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// bands are those of the protocols customized and auto by default: what fits a message is eager, and medium is what has
// up to sixteen times as many bytes on a host. So it was measured with exanet bench progress, by medians of five: up to
// there a sender that comes first gains more by its copy, where the receiver is late (order 9a), than it loses where
// both wait (9b). In a ping-pong a copy loses at every size.
var bands = customized.Bands{Hybrid: 16 * host.DefaultLimit}

// WithBands sets up to which size in bytes, inclusive, messages of the protocols customized and auto are eager, and up
// to which a send that comes first leaves a copy and completes, or may do so (Small and Yuan, ICS 2009; the paper's
// are customized.Paper). An eager size that is 0, or larger than the device's messages, is theirs. All ranks must give
// the same. The default is EXANET_BANDS.
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

// looksFirst reports whether the protocol goes by who comes first.
func (s *settings) looksFirst() bool { return s.variant == "customized" || s.variant == "auto" }

// setBands sets those that no option has set. Other protocols have none.
func (s *settings) setBands() (err error) {
	if !s.looksFirst() {
		s.bands = customized.Bands{}
		return nil
	}
	if s.bands != (customized.Bands{}) {
		return nil
	}
	s.bands = bands
	if s.wantedBands != "" {
		if s.bands, err = bandsOf(s.wantedBands); err != nil {
			return fmt.Errorf("%s: %w", env.Bands, err)
		}
	}
	return nil
}

// bandsOf reads two sizes, the eager one first: "12K,40K".
func bandsOf(text string) (b customized.Bands, err error) {
	eager, hybrid, two := strings.Cut(text, ",")
	if two {
		if b.Eager, err = size(eager); err == nil {
			b.Hybrid, err = size(hybrid)
		}
	}
	if !two || err != nil {
		return b, fmt.Errorf("%q is not two sizes in bytes, as 12K,40K", text)
	}
	if b.Hybrid < b.Eager {
		return b, fmt.Errorf("%q: the second size is smaller than the first", text)
	}
	return b, nil
}

// size reads a number of bytes, with K or M for 2^10 or 2^20 of them.
func size(text string) (int, error) {
	shift := 0
	switch {
	case strings.HasSuffix(text, "K"):
		shift = 10
	case strings.HasSuffix(text, "M"):
		shift = 20
	}
	if shift > 0 {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseUint(text, 10, 31-shift)
	return int(n) << shift, err
}

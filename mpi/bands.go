package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// bands are those of the protocols customized and auto by default: what fits a message is eager, and medium is what has
// up to sixteen times as many bytes on a host. So it was measured with exanet bench progress, by medians of five: up to
// there a sender that comes first gains more by its copy, where the receiver is late (order 9a), than it loses where
// both wait (9b). In a ping-pong a copy loses at every size.
var bands = customized.Bands{Hybrid: 16 * host.DefaultLimit}

// WithBands sets up to which size in bytes, inclusive, messages of the protocols customized and auto are eager, and up
// to which a send that comes first leaves a copy and completes, or may do so (Small and Yuan, ICS 2009; the paper's
// are customized.Paper). An eager size that is 0, or larger than the device's messages, is theirs; it is at least the
// 40 bytes that control messages carry. All ranks must give the same. The default is EXANET_BANDS.
func WithBands(eager, hybrid int) Option {
	return func(s *settings) error {
		s.bands, s.bandsGiven = customized.Bands{Eager: eager, Hybrid: hybrid}, true
		if err := checkBands(s.bands); err != nil {
			return fmt.Errorf("bands to %d and %d bytes: %w", eager, hybrid, err)
		}
		return nil
	}
}

// checkBands returns what is wrong with sizes. Those that are eager fit a message of the device, and so must all that a
// control message carries.
func checkBands(b customized.Bands) error {
	switch {
	case b.Eager < 0 || b.Hybrid < 0:
		return errors.New("a size is negative")
	case b.Eager > 0 && b.Eager < packetizer.PayloadLimit:
		return fmt.Errorf("the first size is smaller than the %d bytes that control messages carry",
			packetizer.PayloadLimit)
	case b.Hybrid < b.Eager:
		return errors.New("the second size is smaller than the first")
	}
	return nil
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
	if s.bandsGiven {
		return nil
	}
	s.bands = bands
	if s.wantedBands != "" {
		s.bands, err = bandsOf(s.wantedBands)
	}
	return err
}

// wantBands is what to do about a mistake in EXANET_BANDS.
var wantBands = fmt.Sprintf("give two as 12K,40K, in bytes or with K or M, in capitals and without blanks; the first "+
	"is 0 (what a message of the device holds) or at least %d", packetizer.PayloadLimit)

// bandsOf reads EXANET_BANDS.
func bandsOf(text string) (b customized.Bands, err error) {
	eager, hybrid, two := strings.Cut(text, ",")
	if two {
		if b.Eager, err = size(eager); err == nil {
			b.Hybrid, err = size(hybrid)
		}
	}
	switch {
	case !two || err != nil:
		err = errors.New("these are not two sizes")
	default:
		err = checkBands(b)
	}
	if err != nil {
		err = fmt.Errorf("%s=%q: %w", env.Bands, text, err)
	}
	return b, err
}

// sizes is inside.Functions.Sizes.
func sizes(environ []string) (eager, hybrid int, err error) {
	s := settingsOf(valueIn(environ))
	if do, err := s.complete(); err != nil {
		return 0, 0, fmt.Errorf("%w; %s", err, do)
	}
	if !s.looksFirst() {
		s.variant = "customized"
		if err := s.setBands(); err != nil {
			return 0, 0, fmt.Errorf("%w; %s", err, wantBands)
		}
	}
	return cmp.Or(s.limit(), host.DefaultLimit), s.bands.Hybrid, nil
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

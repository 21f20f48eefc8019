package net

import (
	"fmt"
	"os"
	"time"

	"github.com/exanet-mpi/exanet/internal/env"
)

// DefaultSilence is how long nothing may come from a rank before that is dead, if EXANET_SILENCE does not say.
const DefaultSilence = 5 * time.Second

const leastSilence = 2 * time.Second

// SilenceLimit is what the environment says.
func SilenceLimit() (time.Duration, error) { return ParseSilence(os.Getenv(env.Silence)) }

// ParseSilence reads a value of EXANET_SILENCE.
func ParseSilence(text string) (time.Duration, error) {
	if text == "" {
		return DefaultSilence, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < leastSilence {
		return 0, fmt.Errorf("%s=%q: want a time of at least %v, as 30s", env.Silence, text, leastSilence)
	}
	return d, nil
}

package randprog

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The model accepts a correct implementation, whatever order messages of
// different sources arrive in; and programs keep their rules, which the
// reference checks.
func TestReference(t *testing.T) {
	for name, c := range map[string]struct {
		rules    Rules
		programs uint64
	}{
		"any program": {Rules{}, 1200},
		"paired":      {Rules{Eager: 4096}, 480},
		"counted":     {Rules{Eager: 40, Counted: true}, 240},
	} {
		t.Run(name, func(t *testing.T) {
			if underRace {
				c.programs = 80
			}
			var n Tally
			for seed := uint64(0); seed < c.programs; seed += seedsPerJob {
				tally, err := Drive(startReference(seed, correct, c.rules), Seeds(seed, seedsPerJob, c.rules),
					*hangFlag)
				require.NoError(t, err)
				n.Add(tally)
			}
			t.Logf("%+v", n)
			if underRace {
				return
			}
			require.Greater(t, min(n.Truncations, n.LeftOver, n.Passed), uint64(100))
			if !c.rules.paired() {
				require.Greater(t, min(n.Probes-n.Matched, n.Matched), uint64(100))
			}
			cancels := []uint64{n.RecvCancels, n.RecvCancelsRefused, n.SendCancels, n.SendCancelsRefused}
			if c.rules.Counted {
				require.Zero(t, slices.Max(cancels))
			} else {
				require.Greater(t, slices.Min(cancels), uint64(50))
			}
		})
	}
}

// The model finds every fault that the reference can have.
func TestFaults(t *testing.T) {
	if underRace {
		t.Skip("many of the faults are data races")
	}
	for f := correct + 1; f < faults; f++ {
		t.Run(f.String(), func(t *testing.T) {
			for seed := uint64(0); seed < 400; seed++ {
				_, err := Drive(startReference(seed, f, Rules{}), Seeds(seed, 1, Rules{}), 300*time.Millisecond)
				var failure *Failure
				if errors.As(err, &failure) {
					t.Logf("seed %d: %s", seed, failure.Problems[0])
					return
				}
				// A message that is lost is missed for ever. The other faults may
				// end in a hang as well, but must also be found and named.
				if errors.Is(err, ErrHang) {
					require.Contains(t, err.Error(), "has not ended")
					if f == lose || f == cancelKeeps {
						return
					}
				}
			}
			t.Fatal("not found in 400 programs")
		})
	}
}

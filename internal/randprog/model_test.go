package randprog

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The model accepts a correct implementation, whatever order messages of
// different sources arrive in.
func TestReference(t *testing.T) {
	var total Tally
	programs := uint64(2000)
	if underRace {
		programs = 160
	}
	for seed := uint64(0); seed < programs; seed += seedsPerJob {
		tally, err := Drive(startReference(seed, correct), Seeds(seed, seedsPerJob), *hangFlag)
		require.NoError(t, err)
		total.Add(tally)
	}
	t.Logf("%+v", total)
	if underRace {
		return
	}
	for name, n := range map[string]uint64{
		"truncations": total.Truncations, "probes": total.Probes, "left over": total.LeftOver, "passed": total.Passed,
		"receive cancels": total.RecvCancels, "refused": total.RecvCancelsRefused,
		"send cancels": total.SendCancels, "refused sends": total.SendCancelsRefused,
	} {
		require.Greater(t, n, uint64(100), name)
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
				_, err := Drive(startReference(seed, f), Seeds(seed, 1), 300*time.Millisecond)
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

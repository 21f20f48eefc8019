package env

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMistakes(t *testing.T) {
	require.Equal(t, []string{
		"EXANET_VARAINT is not a setting; did you mean EXANET_VARIANT?",
		"EXANET_COLLECTIVES is not a setting; there are EXANET_VARIANT, EXANET_BANDS, EXANET_DEVICE, EXANET_COLL, " +
			"EXANET_STATS, EXANET_CHECK, EXANET_NETWORK, EXANET_SILENCE, EXANET_VERBOSE, EXANET_DISABLE",
		"EXANET_stats is not a setting; did you mean EXANET_STATS?",
		"EXANET_COL is not a setting; did you mean EXANET_COLL?",
		"EXANET_DISABLE=no counts as 1; give 1, or 0 as without it",
	}, Mistakes([]string{"PATH=/bin", "EXANET_VARAINT=rtr", "EXANET_COLLECTIVES=", "EXANET_stats=/tmp",
		"EXANET_VARAINT=ticket", "EXANET_COL=x", "EXANET_VARIANT=rtr", "EXANET_JOB=3", "EXANET_TEST_SELF=1",
		"exanet_variant=rtr", "EXANETVARIANT=rtr", "EXANET_DISABLE=0", "EXANET_DISABLE=no", "EXANET_VERBOSE=",
		"EXANET_VERBOSE=1"}))
}

// Edits is the length of a shortest way: no step of a way is longer than one, and what a few
// random edits make is not farther than these.
func TestEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("AB_")), 0, 8, -1)
		a, b, c := letters.Draw(t, "a"), letters.Draw(t, "b"), letters.Draw(t, "c")
		require.Equal(t, edits(a, b), edits(b, a))
		require.LessOrEqual(t, edits(a, c), edits(a, b)+edits(b, c))
		require.Equal(t, a == b, edits(a, b) == 0)
		at := rapid.IntRange(0, len(a)).Draw(t, "at")
		require.Equal(t, 1, edits(a, a[:at]+"x"+a[at:]))
		require.GreaterOrEqual(t, edits(a, b), max(len(a), len(b))-min(len(a), len(b)))
		require.LessOrEqual(t, edits(a, b), max(len(a), len(b)))
	})
}

package compare

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two ways that are made of one have their own environments.
func TestWaysKeepTheirSettings(t *testing.T) {
	w := Way{Env: append(make([]string, 0, 8), "HOME=/")}
	a, b := w.With("EXANET_VARIANT=ticket"), w.With("EXANET_VARIANT=customized")
	require.Equal(t, []string{"HOME=/", "EXANET_VARIANT=ticket"}, a.Env)
	require.Equal(t, []string{"HOME=/", "EXANET_VARIANT=customized"}, b.Env)
}

//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Guests are built from the source tree. Elsewhere one line says what it takes.
func TestGuestsOutsideTheSourceTree(t *testing.T) {
	t.Chdir(t.TempDir())
	needs := "exanet: guests need the source tree of exanet, and Go in PATH, as their programs are built: "
	_, errs, code := exanet(t, "", "guests", "--folder", t.TempDir())
	require.Equal(t, exitFailure, code)
	require.Equal(t, needs+"this is no folder of github.com/exanet-mpi/exanet\n", errs)

	t.Setenv("PATH", t.TempDir())
	_, errs, code = exanet(t, "", "guests", "--folder", t.TempDir())
	require.Equal(t, exitFailure, code)
	require.Equal(t, needs+"there is no Go\n", errs)
}

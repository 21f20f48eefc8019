package mpi_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A build tag can leave one protocol; the errors name what is left.
func TestABuildRunsWhatItListsAndNamesItOtherwise(t *testing.T) {
	nothing := func(*mpi.Comm) error { return nil }
	for _, name := range []string{"readbased", "rtr", "envless", "ticket", "optimistic", "customized", "auto",
		"standing"} {
		err := mpi.Run(1, nothing, mpi.WithVariant(name))
		if slices.Contains(mpi.Variants(), name) {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, mpi.ErrInit)
		require.ErrorContains(t, err, `"`+name+`"`)
		require.ErrorContains(t, err, mpi.DefaultVariant)
		if len(mpi.Variants()) == 1 {
			require.ErrorContains(t, err, "built with the tag "+mpi.DefaultVariant)
		}
	}
	for _, name := range []string{"host", "prototype"} {
		require.NoError(t, mpi.Run(1, nothing, mpi.WithDevice(name)))
	}
	err := mpi.Run(1, nothing, mpi.WithDevice("registers"))
	require.ErrorIs(t, err, mpi.ErrInit)
	require.ErrorContains(t, err, "serves processes")
}

// Registers without a launcher that has them, or a path, are not to be had: a world of one rank would be none of them.
func TestRegistersNeedAPath(t *testing.T) {
	_, err := mpi.Init(mpi.WithDevice("registers"))
	require.ErrorIs(t, err, mpi.ErrInit)
	require.ErrorContains(t, err, "registers:PATH")
}

package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestIntegrate(t *testing.T) {
	require.NoError(t, mpi.Run(4, func(world *mpi.Comm) error {
		strips := 0 // which only rank 0 knows
		if world.Rank() == 0 {
			strips = 1000
		}
		pi, err := integrate(world, strips)
		assert.InDelta(t, math.Pi, pi, 1e-6)
		return err
	}))
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Whatever the number of workers, each number comes back once, with its factors.
func TestWorkers(t *testing.T) {
	numbers := []uint64{2, 4, 12, 97, 1 << 20, 600851475143}
	for _, ranks := range []int{2, 4, 9} { // one worker; fewer than numbers; more
		require.NoError(t, mpi.Run(ranks, func(world *mpi.Comm) error {
			if world.Rank() > 0 {
				return work(world)
			}
			results, err := master(world, numbers)
			assert.Len(t, results, len(numbers))
			for _, n := range numbers {
				product := uint64(1)
				for _, f := range results[n] {
					product *= f
					assert.Equal(t, []uint64{f}, factor(f), "a factor of %d is not prime", n)
				}
				assert.Equal(t, n, product)
			}
			return err
		}))
	}
}

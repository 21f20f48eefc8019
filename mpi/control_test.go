package mpi

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who asks what a rank waits for is told that it is in Finalize.
func TestWhatARankInFinalizeWaitsFor(t *testing.T) {
	var other atomic.Pointer[rank]
	require.NoError(t, Run(2, func(world *Comm) error {
		if world.Rank() == 1 {
			assert.Equal(t, "waits for nothing", waiting(world.rank))
			other.Store(world.rank)
			return nil
		}
		assert.Eventually(t, func() bool {
			k := other.Load()
			return k != nil && strings.HasPrefix(waiting(k), "has called Finalize: Barrier: receive from rank 0, ")
		}, time.Minute, time.Millisecond)
		return nil
	}))
}

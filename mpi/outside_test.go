package mpi

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rank that sleeps begins to poll outside when something is there, and sleeps
// again when it has gone.
func TestOutside(t *testing.T) {
	for _, variant := range Variants() {
		var busy, polls atomic.Int64
		var waiter atomic.Pointer[Comm]
		err := Run(2, func(c *Comm) error {
			in := []int{0}
			for i := range 3 {
				if c.Rank() == 0 {
					waiter.Store(c)
					if _, err := Recv(c, in, 1, 0); err != nil {
						return err
					}
					assert.Equal(t, i, in[0])
					continue
				}
				for waiter.Load() == nil {
					runtime.Gosched()
				}
				time.Sleep(5 * time.Millisecond) // likely to be asleep now
				before := polls.Load()
				busy.Add(1)
				waiter.Load().wake()
				for polls.Load() == before {
					runtime.Gosched()
				}
				busy.Add(-1)
				if err := Send(c, []int{i}, 0, 0); err != nil {
					return err
				}
			}
			return c.Barrier()
		}, WithVariant(variant), withOutside(&busy, func() { polls.Add(1) }))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, polls.Load(), int64(3))
	}
}

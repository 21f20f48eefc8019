package mpi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A panic within a call leaves the rank's lock held: the others are told, and
// Run returns.
func TestAPanicWithinACall(t *testing.T) {
	ended := make(chan error, 1)
	go func() {
		ended <- Run(3, func(world *Comm) error {
			if world.Rank() == 1 {
				world.rank.mu.Lock()
				panic("within a call")
			}
			var b [1]byte
			_, err := Recv(world, b[:], 1, 0)
			assert.ErrorIs(t, err, ErrProcFailed)
			return err
		})
	}()
	select {
	case err := <-ended:
		assert.ErrorContains(t, err, "rank 1 panicked: within a call")
	case <-time.After(time.Minute):
		t.Fatal("Run hangs")
	}
}

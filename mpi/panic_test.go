package mpi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// What a rank returns is told with its number, once.
func TestErrorsOfRunNameTheRank(t *testing.T) {
	broken := errors.New("no such file")
	err := Run(3, func(w *Comm) error {
		if w.Rank() == 1 {
			return broken
		}
		return nil
	})
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "rank 1: no such file")
	err = Run(3, func(w *Comm) error {
		if w.Rank() == 2 {
			return fmt.Errorf("at the end: %w", Send(w, []int{1}, 3, 0))
		}
		return nil
	})
	require.ErrorIs(t, err, ErrRank)
	require.Equal(t, 1, strings.Count(err.Error(), "rank 2"), err)
}

//go:build !optimistic

// The protocol optimistic does not allow AnySource, by which these communicators are tried.

package mpi

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

// ofColor are the ranks of the job that have a colour.
func ofColor(c *Comm, color int, of func(rank int) int) (worlds []int32) {
	for i := range c.Size() {
		if of(i) == color {
			worlds = append(worlds, int32(i))
		}
	}
	return worlds
}

// Reserved communicators are made by some ranks late and by some not at all, and freed in any order. Their
// messages and collectives work, numbers are used again, and none is lost.
func TestReservedCommunicators(t *testing.T) {
	for _, p := range []int{1, 2, 5} {
		for name, option := range map[string]Option{"host": WithDevice(deviceHost), "network": WithRanksAHost(1),
			"hosts": WithRanksAHost(2)} {
			if name == "hosts" && p <= 2 { // one
				continue
			}
			t.Run(fmt.Sprintf("%d on %s", p, name), func(t *testing.T) { reservedCommunicators(t, p, option) })
		}
	}
}

func reservedCommunicators(t *testing.T, p int, option Option) {
	require.NoError(t, Run(p, func(c *Comm) error {
		parent, err := c.Dup()
		if err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		before := exhaust(c, 1<<20)
		within := func(so func() bool, what string) {
			require.Eventually(t, func() bool {
				c.rank.mu.Lock()
				c.rank.Poll()
				c.rank.mu.Unlock()
				return so()
			}, time.Minute, time.Millisecond, what)
		}
		for round := range 150 {
			color := func(rank int) int { return (rank + round) % 3 / 2 }
			r, err := parent.reserve()
			if err != nil {
				return err
			}
			if round%3 == 0 || color(c.Rank()) == 1 { // it is not used, or this rank is no member
				r.Drop()
				continue
			}
			d, err := r.Make(ofColor(c, 0, color))
			if err != nil {
				return err
			}
			next := (d.Rank() + 1) % d.Size()
			got := []int{-1}
			if _, err := Sendrecv(d, []int{round}, next, 0, got, AnySource, 0); err != nil || got[0] != round {
				return fmt.Errorf("round %d: %d, %w", round, got[0], err)
			}
			if round%2 == 0 {
				sum := []int{0}
				if err := Allreduce(d, []int{1}, sum, Sum); err != nil || sum[0] != d.Size() {
					return fmt.Errorf("round %d: sum %d, %w", round, sum[0], err)
				}
				require.Equal(t, d.Size() > 1 && d.onOneHost(), d.area != nil)
			}
			if err := d.Free(); err != nil {
				return err
			}
		}
		if err := c.Barrier(); err != nil { // what others have left has been told, or is on its way
			return err
		}
		if c.Rank() == 0 {
			within(func() bool { return before-exhaust(c, 1<<20) <= 2*mostReserved+1 }, "numbers that are in use")
		}
		if err := errors.Join(parent.Free(), c.Barrier()); err != nil {
			return err
		}
		if c.Rank() == 0 {
			within(func() bool { return exhaust(c, 1<<20) == before+1 }, "that of the parent is free as well")
		}
		return c.Barrier()
	}, option))
}

// A message for a reserved communicator that its receiver drops leaves nothing behind.
func TestADroppedCommunicatorHasAMessage(t *testing.T) {
	require.NoError(t, Run(2, func(c *Comm) error {
		for i := range 100 {
			r, err := c.reserve()
			if err != nil {
				return err
			}
			if c.Rank() == 1 {
				if i%2 == 0 {
					if err := c.Barrier(); err != nil {
						return err
					}
				}
				r.Drop()
			} else {
				d, err := r.Make([]int32{0, 1})
				if err != nil {
					return err
				}
				if err := Send(d, make([]int, 1000), 1, 0); err != nil { // the credit of all would not last
					return err
				}
				if i%2 == 0 {
					if err := c.Barrier(); err != nil {
						return err
					}
				}
				if err := d.Free(); err != nil {
					return err
				}
			}
		}
		return c.Barrier()
	}))
}

// Where rank 0 has no number left all members learn of it.
func TestNothingToReserve(t *testing.T) {
	require.NoError(t, Run(3, func(c *Comm) error {
		if c.Rank() == 0 {
			exhaust(c, 0)
		}
		r, err := c.reserve()
		if err != nil {
			return err
		}
		if c.Rank() == 2 {
			r.Drop()
		} else if _, err := r.Make([]int32{0, 1}); !errors.Is(err, commid.ErrTooMany) {
			return fmt.Errorf("not %w: %w", ErrTooMany, err)
		}
		return c.Barrier()
	}))
}

// The ranks are told of numbers in a request that is not the program's, which need not wait for it.
func TestReservingIsNotChecked(t *testing.T) {
	var mu sync.Mutex
	var found []string
	require.NoError(t, Run(3, func(c *Comm) error {
		_, err := c.reserve()
		return err
	}, WithFindings(func(line string) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, line)
	})))
	require.Empty(t, found)
}

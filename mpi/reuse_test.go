package mpi_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A rank keeps nothing of the communicators that it has freed.
func TestFreedCommunicatorsLeaveNothingBehind(t *testing.T) {
	for _, variant := range mpi.Variants() {
		dups := 100_000
		if variant != "ticket" || testing.Short() {
			dups = 2_000
		}
		for name, way := range map[string]struct {
			cycles int
			make   func(c *mpi.Comm) (*mpi.Comm, error)
		}{
			"Dup":   {dups, (*mpi.Comm).Dup},
			"Split": {1_000, func(c *mpi.Comm) (*mpi.Comm, error) { return c.Split(0, -c.Rank()) }},
			"CreateGroup": {1_000, func(c *mpi.Comm) (*mpi.Comm, error) {
				return c.CreateGroup(c.Group(), 1)
			}},
			"Idup": {1_000, func(c *mpi.Comm) (*mpi.Comm, error) {
				d, q, err := c.Idup()
				if err == nil {
					_, err = q.Wait()
				}
				return d, err
			}},
			"Merge": {1_000, func(c *mpi.Comm) (*mpi.Comm, error) {
				inter, err := c.Self().InterCreate(0, c, 1-c.Rank(), 0)
				if err != nil {
					return nil, err
				}
				d, err := inter.Merge(false)
				if err != nil {
					return nil, err
				}
				return d, inter.Free()
			}},
		} {
			t.Run(variant+", "+name, func(t *testing.T) {
				leavesNothing(t, variant, way.cycles, way.make)
			})
		}
	}
}

func leavesNothing(t *testing.T, variant string, cycles int, way func(c *mpi.Comm) (*mpi.Comm, error)) {
	var before, after runtime.MemStats
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		cycle := func(i int) error {
			d, err := way(c)
			if err != nil {
				return err
			}
			// A message of its own tag, which nobody receives, and one that is
			// received.
			if err := mpi.Send(d, []int{i}, 1-d.Rank(), i); err != nil {
				return err
			}
			got := []int{0}
			if _, err := mpi.Sendrecv(d, []int{i}, 1-d.Rank(), cycles, got, 1-d.Rank(), cycles); err != nil {
				return err
			}
			return d.Free()
		}
		measure := func(m *runtime.MemStats) error {
			if err := c.Barrier(); err != nil {
				return err
			}
			if c.Rank() == 0 {
				runtime.GC()
				runtime.ReadMemStats(m)
			}
			return c.Barrier()
		}
		for i := range cycles {
			if i == cycles/10 {
				if err := measure(&before); err != nil {
					return err
				}
			}
			if err := cycle(i); err != nil {
				return err
			}
		}
		return measure(&after)
	}, mpi.WithVariant(variant)))
	require.Less(t, after.HeapAlloc, before.HeapAlloc+uint64(max(64<<10, cycles*3)))
}

// An advertisement that is still under way when its communicator has been freed
// by both sides does not meet a send on the next one, which has the same number.
func TestAnOldRTRDoesNotMeetANewCommunicator(t *testing.T) {
	const tag, size = 7, 100_000
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" {
			continue // short messages meet short receives only
		}
		t.Run(variant, func(t *testing.T) {
			posted := make(chan bool)
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				for round := range 50 {
					d, err := c.Dup()
					if err != nil {
						return err
					}
					old := pattern(size, round)
					if c.Rank() == 0 {
						q, err := mpi.Irecv(d, old, 1, tag)
						if err != nil {
							return err
						}
						posted <- true
						if _, err := q.Wait(); err != nil {
							return err
						}
					} else {
						// The RTR is in the mailbox; nobody looks at it before
						// the communicator is gone.
						<-posted
						if err := mpi.Send(d, []byte{1}, 0, tag); err != nil {
							return err
						}
					}
					if err := d.Free(); err != nil {
						return err
					}
					if d, err = c.Dup(); err != nil {
						return err
					}
					if c.Rank() == 1 {
						if err := mpi.Send(d, pattern(size, -round), 0, tag); err != nil {
							return err
						}
					} else {
						now := make([]byte, size)
						if _, err := mpi.Recv(d, now, 1, tag); err != nil {
							return err
						}
						require.Equal(t, pattern(size, -round), now)
						require.Equal(t, pattern(size, round)[1:], old[1:])
					}
					if err := d.Free(); err != nil {
						return err
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

// A rank that has freed a communicator may have requests pending on it when the
// leader gives its number to another one.
func TestTwoGenerationsAtATime(t *testing.T) {
	const size = 100_000
	onEveryProtocol(t, 3, func(c *mpi.Comm) error {
		color := 0
		if c.Rank() == 2 {
			color = mpi.Undefined
		}
		pair, err := c.Split(color, 0)
		if err != nil {
			return err
		}
		for round := range 20 {
			d, err := c.Dup()
			if err != nil {
				return err
			}
			if c.Rank() == 2 {
				// The others are done with the next communicator.
				if _, err := mpi.Recv(c, make([]byte, 1), 0, round); err != nil {
					return err
				}
				if err := mpi.Send(d, pattern(size, round), 1, 0); err != nil {
					return err
				}
				if err := d.Free(); err != nil {
					return err
				}
				continue
			}
			late := make([]byte, size)
			var q *mpi.Request
			if c.Rank() == 1 {
				if q, err = mpi.Irecv(d, late, 2, 0); err != nil {
					return err
				}
			}
			if err := d.Free(); err != nil {
				return err
			}
			for range 3 {
				e, err := pair.Dup()
				if err != nil {
					return err
				}
				got := []int{0}
				if _, err := mpi.Sendrecv(e, []int{round}, 1-e.Rank(), 0, got, 1-e.Rank(), 0); err != nil {
					return err
				}
				require.Equal(t, round, got[0])
				if err := e.Free(); err != nil {
					return err
				}
			}
			if c.Rank() == 0 {
				if err := mpi.Send(c, []byte{1}, 2, round); err != nil {
					return err
				}
				continue
			}
			if _, err := q.Wait(); err != nil {
				return err
			}
			require.Equal(t, pattern(size, round), late)
		}
		return nil
	})
}

package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A rank dies while the others make a communicator of it. Nobody hangs, nobody
// needs the program to end for that, and communicators that the dead rank is not
// in work as before.
func TestAMemberDiesWhileACommunicatorIsMade(t *testing.T) {
	gone := errors.New("gone")
	for name, found := range map[string]func(c *mpi.Comm) (*mpi.Comm, error){
		"Dup":         (*mpi.Comm).Dup,
		"Split":       func(c *mpi.Comm) (*mpi.Comm, error) { return c.Split(c.Rank()%2, 0) },
		"CreateGroup": func(c *mpi.Comm) (*mpi.Comm, error) { return c.CreateGroup(c.Group(), 5) },
		"DistGraph":   func(c *mpi.Comm) (*mpi.Comm, error) { return c.DistGraph(nil, false, false) },
		"InterCreate": func(c *mpi.Comm) (*mpi.Comm, error) {
			half, inter, err := twoGroups(c, 4)
			if err != nil {
				return nil, err
			}
			_ = half.Free()
			return inter, nil
		},
	} {
		for _, victim := range []int{0, 2, 6} {
			t.Run(fmt.Sprintf("%s, rank %d", name, victim), func(t *testing.T) {
				failed := make([]bool, 7)
				err := mpi.Run(7, func(c *mpi.Comm) error {
					color := 0
					if c.Rank() == victim {
						color = mpi.Undefined
					}
					living, err := c.Split(color, 0)
					if err != nil {
						return err
					}
					if c.Rank() == victim {
						return gone
					}
					d, err := found(c)
					if failed[c.Rank()] = err != nil; failed[c.Rank()] {
						require.ErrorIs(t, err, mpi.ErrProcFailed)
					} else { // it needs no word of those that have seen it
						require.NoError(t, d.Free())
					}
					return living.Barrier()
				})
				require.ErrorIs(t, err, gone)
				require.Contains(t, failed, true)
			})
		}
	}
}

// The death of a rank concerns only the communicators that it is in.
func TestADeathConcernsItsCommunicators(t *testing.T) {
	gone := errors.New("gone")
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" {
			continue // knows no AnySource
		}
		t.Run(variant, func(t *testing.T) {
			err := mpi.Run(4, func(c *mpi.Comm) error {
				living, err := c.Split(c.Rank()/3, 0)
				if err != nil {
					return err
				}
				if c.Rank() == 3 {
					return gone
				}
				// Everybody sees the death before the message that is waited for
				// is sent.
				before, err := mpi.Irecv(living, make([]int, 5000), mpi.AnySource, 1)
				if err != nil {
					return err
				}
				_, err = mpi.Recv(c, make([]int, 1), mpi.AnySource, 0)
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				_, err = mpi.Recv(c, make([]int, 1), 3, 0)
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				if err := living.Barrier(); err != nil {
					return err
				}
				after, err := mpi.Irecv(living, make([]int, 5000), mpi.AnySource, 2)
				if err != nil {
					return err
				}
				next := (living.Rank() + 1) % 3
				for tag := 1; tag <= 2; tag++ {
					if err := mpi.Send(living, make([]int, 5000), next, tag); err != nil {
						return err
					}
				}
				return mpi.WaitAll(before, after)
			}, mpi.WithVariant(variant))
			require.ErrorIs(t, err, gone)
			require.NotErrorIs(t, err, mpi.ErrProcFailed)
		})
	}
}

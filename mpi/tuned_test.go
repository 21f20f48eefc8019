package mpi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// received runs a program and counts the messages that rank 1 of it has got.
func received(t *testing.T, list string, main func(c *mpi.Comm) error) uint64 {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("EXANET_STATS", dir)
	require.NoError(t, mpi.Run(3, main, mpi.WithCollectives(list)))
	text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
	require.NoError(t, err)
	var stats mpi.Stats
	require.NoError(t, json.Unmarshal(text, &stats))
	return stats.Receives
}

// A duplicate with other algorithms uses them, as does what is made of it, and nothing else.
func TestDupWithCollectives(t *testing.T) {
	const calls = 100
	sums := func(c *mpi.Comm) error {
		for range calls {
			if err := mpi.Allreduce(c, nil, []int{1}, mpi.Sum); err != nil {
				return err
			}
		}
		return nil
	}
	for want, on := range map[string]func(c, d *mpi.Comm) *mpi.Comm{
		"shared":   func(c, d *mpi.Comm) *mpi.Comm { return c },
		"messages": func(c, d *mpi.Comm) *mpi.Comm { return d },
		"messages in what is made of it": func(c, d *mpi.Comm) *mpi.Comm {
			e, err := d.Split(0, 0)
			require.NoError(t, err)
			return e
		},
	} {
		n := received(t, "", func(c *mpi.Comm) error {
			d, err := c.DupWithCollectives("allreduce:tree")
			if err != nil {
				return err
			}
			if err := sums(on(c, d)); err != nil {
				return err
			}
			return d.Free()
		})
		if want == "shared" {
			require.Less(t, n, uint64(calls), want)
		} else {
			require.GreaterOrEqual(t, n, uint64(calls), want)
		}
	}
}

// A table is for the ranks that it says, and sizes.
func TestATableOfCollectives(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table")
	bcasts := func(n int) func(c *mpi.Comm) error {
		return func(c *mpi.Comm) error {
			for range 100 {
				if err := mpi.Bcast(c, make([]byte, n), 0); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for row, messages := range map[string]bool{"bcast 64 3 binomial": true, "bcast 64 2 binomial": false,
		"bcast 63 3 binomial": false} {
		require.NoError(t, os.WriteFile(table, []byte(row), 0o600))
		n := received(t, "@"+table, bcasts(64))
		require.Equal(t, messages, n >= 100, "%s: %d messages", row, n)
	}
	require.NoError(t, os.WriteFile(table, []byte("bcast"), 0o600))
	err := mpi.Run(2, bcasts(64), mpi.WithCollectives("@"+table))
	require.ErrorIs(t, err, mpi.ErrInit)
	require.ErrorContains(t, err, table+", line 1")
}

// Nobody gets a communicator if lists differ, or one of them is wrong.
func TestDupWithCollectivesRefuses(t *testing.T) {
	require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
		for bad := range c.Size() {
			for _, list := range []string{"allreduce:ring", "allreduce:rung"} {
				mine := ""
				if c.Rank() == bad {
					mine = list
				}
				if _, err := c.DupWithCollectives(mine); err == nil {
					return fmt.Errorf("rank %d: %s of rank %d is taken", c.Rank(), list, bad)
				} else {
					require.ErrorIs(t, err, mpi.ErrArg)
				}
			}
		}
		d, err := c.DupWithCollectives(" bcast:binomial , allreduce:ring")
		if err != nil {
			return err
		}
		return d.Free()
	}))
}

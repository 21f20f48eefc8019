package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/network"
)

// crowd is a host of which only this is asked.
type crowd struct {
	network.SharedMemory
	yielding       bool
	perCore, looks int
}

func (c crowd) Yielding() bool { return c.yielding }
func (c crowd) PerCore() int   { return c.perCore }
func (c crowd) Looks() int     { return c.looks }

// Ranks with a core each look, others yield, and where only sleep hands a core over they do neither.
func TestPatienceInSharedMemory(t *testing.T) {
	for name, x := range map[string]struct {
		host          crowd
		spins, yields bool
	}{
		"a core each":         {host: crowd{perCore: 1, looks: 200}, spins: true},
		"they take turns":     {host: crowd{yielding: true, perCore: 2}, yields: true},
		"only sleeping helps": {host: crowd{perCore: 2}},
	} {
		spins, yields := spinBudget(x.host)
		require.Equal(t, x.spins, spins > 0, name)
		require.Equal(t, x.yields, yields > 0, name)
	}
}

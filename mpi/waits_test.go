package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/network"
)

// sharers is a host of whose ranks only this is asked.
type sharers struct {
	network.SharedMemory
	yielding       bool
	perCore, looks int
}

func (c sharers) Yielding() bool { return c.yielding }
func (c sharers) PerCore() int   { return c.perCore }
func (c sharers) Looks() int     { return c.looks }

// Ranks with a core each look, others yield, and where only sleep hands a core over they do neither.
func TestSpinBudget(t *testing.T) {
	for name, x := range map[string]struct {
		host          sharers
		spins, yields bool
	}{
		"a core each":         {host: sharers{perCore: 1, looks: 200}, spins: true},
		"they take turns":     {host: sharers{yielding: true, perCore: 2}, yields: true},
		"only sleeping helps": {host: sharers{perCore: 2}},
	} {
		spins, yields := spinBudget(x.host)
		require.Equal(t, x.spins, spins > 0, name)
		require.Equal(t, x.yields, yields > 0, name)
	}
}

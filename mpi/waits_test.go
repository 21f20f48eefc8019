package mpi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/network"
)

// sharers is a host of whose ranks only this is asked.
type sharers struct {
	network.SharedMemory
	yielding       bool
	handOver       time.Duration
	perCore, looks int
}

func (c sharers) Yielding() bool          { return c.yielding }
func (c sharers) HandOver() time.Duration { return c.handOver }
func (c sharers) PerCore() int            { return c.perCore }
func (c sharers) Looks() int              { return c.looks }

// Ranks with a core each look, others yield, also where some yields only hand a core over.
func TestSpinBudget(t *testing.T) {
	for name, x := range map[string]struct {
		host          sharers
		spins, yields bool
	}{
		"a core each":        {host: sharers{perCore: 1, looks: 200}, spins: true},
		"they take turns":    {host: sharers{yielding: true, perCore: 2}, yields: true},
		"in some yields":     {host: sharers{handOver: time.Microsecond, perCore: 2}, yields: true},
		"ranks of a process": {host: sharers{perCore: 2}},
	} {
		spins, yields := spinBudget(x.host)
		require.Equal(t, x.spins, spins > 0, name)
		require.Equal(t, x.yields, yields > 0, name)
	}
}

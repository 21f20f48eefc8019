package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/emu/host"
)

// elsewhere is a fabric of another host.
type elsewhere struct {
	*host.Fabric
	dear, yielding bool
}

func (e elsewhere) Dear() bool     { return e.dear }
func (e elsewhere) Yielding() bool { return e.yielding }

// A rank takes the rows of the table of algorithms that are meant for its host.
func TestRowsForTheHost(t *testing.T) {
	job, err := host.NewJob(1)
	require.NoError(t, err)
	defer job.Close()
	o, err := options([]Option{withJob(job.File(), 0)})
	require.NoError(t, err)
	f, err := join(o)
	require.NoError(t, err)
	defer f.Close()
	require.NotEqual(t, o.algorithms.On(0), o.algorithms.On(coll.Dear), "the rows differ")
	for _, x := range []struct {
		dear, yielding bool
		at             coll.Where
	}{{at: 0}, {dear: true, at: coll.Dear}, {yielding: true, at: coll.Yielding}, {true, true, coll.Dear | coll.Yielding}} {
		k, err := newRank(elsewhere{f.(*host.Fabric), x.dear, x.yielding}, o)
		require.NoError(t, err)
		require.Equal(t, o.algorithms.On(x.at), k.algorithms)
	}
}

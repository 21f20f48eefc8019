package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/network"
)

// crowd is a host of which only this is asked.
type crowd struct {
	network.SharedMemory
	crowded, yielding, fenced bool
	perCore                   int
}

func (c crowd) Crowded() bool  { return c.crowded }
func (c crowd) Yielding() bool { return c.yielding }
func (c crowd) Fenced() bool   { return c.fenced }
func (c crowd) PerCore() int   { return c.perCore }

// Ranks with a core each look, others yield or nap; of very many, who have yielded nap.
func TestHowTheTwinWaits(t *testing.T) {
	for name, x := range map[string]struct {
		fab  crowd
		want board.View
	}{
		"a core each":            {crowd{fenced: true, perCore: 1}, board.View{Spins: boardSpins}},
		"they take turns":        {crowd{crowded: true, yielding: true, fenced: true, perCore: host.Throng}, board.View{Yields: boardYields}},
		"a throng":               {crowd{crowded: true, yielding: true, fenced: true, perCore: host.Throng + 1}, board.View{Yields: boardYields, Naps: boardNaps}},
		"only sleeping helps":    {crowd{crowded: true, fenced: true, perCore: 2}, board.View{Naps: boardNaps}},
		"and nobody would fence": {crowd{crowded: true, perCore: 2}, board.View{}},
	} {
		var v board.View
		waits(x.fab, &v)
		require.Equal(t, x.want, v, name)
	}
}

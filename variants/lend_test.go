package variants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/variants"
)

// A receive whose data its sender has lent needs nobody: whoever is in a call copies. One whose sender has lent
// nothing does.
func TestABorrowingReceiveNeedsNobody(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		// Those of package ticket borrow.
		if p.name != "ticket" && p.name != "customized" && p.name != "standing" {
			return
		}
		for size, needs := range map[int]variants.Needs{long: variants.NeedsArrivals, host.DefaultLimit + 1: 0} {
			s := p.Send(0, 1, make([]byte, size))
			p.Poll(1)
			r := p.Recv(1, 1, make([]byte, size))
			require.False(t, r.Done)
			require.Equal(t, needs, p.Rank[1].Needs()&variants.NeedsArrivals, "%d bytes", size)
			require.True(t, p.Settle(s, r))
		}
	})
}

package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// The last rank that joins finds out what attach costs, and all go by what it has found.
func TestAllRanksKnowWhatAttachCosts(t *testing.T) {
	j, err := NewJob(2)
	require.NoError(t, err)
	defer j.File().Close()
	var members []*Member
	for rank := range 2 {
		require.Zero(t, j.head.attach.Load())
		m, err := Join(j.File(), rank, "")
		require.NoError(t, err)
		members = append(members, m)
	}
	found, here := j.head.attach.Load(), sys.AttachCost()
	require.Equal(t, here == 0, found == 0, "refused")
	for cost, dear := range map[uint32]bool{0: false, sys.SlowAttach: false, sys.SlowAttach + 1: true} {
		j.head.attach.Store(cost)
		for _, m := range members {
			require.Equal(t, dear, NewFabric(m, 0).SlowAttach())
		}
	}
}

package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// The last rank that joins finds out what attach costs, and all go by what it has found.
func TestWhatRingsTakeFollowsFromWhatAttachCosts(t *testing.T) {
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
	for _, c := range []struct {
		cost  uint32
		dear  bool
		limit int
	}{{0, false, DefaultLimit}, {sys.Dear, false, DefaultLimit}, {sys.Dear + 1, true, LimitIfDear}} {
		j.head.attach.Store(c.cost)
		for _, m := range members {
			require.Equal(t, c.dear, NewFabric(m, 0).Dear())
			require.Equal(t, c.limit, NewFabric(m, 0).Limit())
			require.Equal(t, 40, NewFabric(m, 40).Limit())
		}
	}
}

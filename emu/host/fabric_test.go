package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The last rank that joins finds out what attach costs, and all go by what it has found.
func TestWhatRingsTakeFollowsFromWhatAttachCosts(t *testing.T) {
	j, err := NewJob(2)
	require.NoError(t, err)
	defer j.File().Close()
	var members []*Member
	for rank := range 2 {
		require.Zero(t, j.head.dear.Load())
		m, err := Join(j.File(), rank, "")
		require.NoError(t, err)
		members = append(members, m)
	}
	for _, m := range members {
		require.Equal(t, j.head.dear.Load() != 0, NewFabric(m, 0).Dear())
	}
	for _, c := range []struct {
		dear  uint32
		limit int
	}{{0, DefaultLimit}, {1, LimitIfDear}} {
		j.head.dear.Store(c.dear)
		for _, m := range members {
			require.Equal(t, c.limit, NewFabric(m, 0).Limit())
			require.Equal(t, 40, NewFabric(m, 40).Limit())
		}
	}
}

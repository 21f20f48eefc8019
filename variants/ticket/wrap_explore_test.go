package ticket_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/explore"
	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// Where the tickets of a channel begin makes no difference: all programs of the
// reduced alphabet have the same states if they wrap around on the way.
func TestExploreWrapAround(t *testing.T) {
	from := func(first uint32) explore.Stats {
		cfg := world.Config{Ranks: 2, Make: func(me int, dev world.Device) variants.Protocol {
			return ticket.NewAt(me, dev.(variants.Device), first)
		}}
		stats, failure := explore.Run(cfg, explore.Reduced.Programs(cfg, 2), false, nil)
		require.Nil(t, failure)
		return stats
	}
	require.Equal(t, from(0).States, from(1<<32-1).States)
	require.Equal(t, from(0).Transitions, from(1<<32-2).Transitions)
}

package variants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/test/pairtest"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/envless"
	"github.com/exanet-mpi/exanet/variants/readbased"
	"github.com/exanet-mpi/exanet/variants/rtr"
	"github.com/exanet-mpi/exanet/variants/standing"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// limit is the eager limit of the pairs here, and long a size above it.
const (
	limit = 40
	long  = 100
)

type pair struct {
	*pairtest.Pair[variants.Protocol]
	name string
}

func newPair(t *testing.T, name string, limit int, protocol func(int, *host.Fabric) variants.Protocol) pair {
	p, err := pairtest.New(limit, protocol)
	require.NoError(t, err)
	return pair{p, name}
}

// everyProtocol runs a test with a pair of each protocol.
func everyProtocol(t *testing.T, limit int, f func(t *testing.T, p pair)) {
	protocols := map[string]func(me int, f *host.Fabric) variants.Protocol{
		"ticket":     func(me int, f *host.Fabric) variants.Protocol { return ticket.New(me, f) },
		"envless":    func(me int, f *host.Fabric) variants.Protocol { return envless.New(me, f, false) },
		"rtr":        func(me int, f *host.Fabric) variants.Protocol { return rtr.New(me, f) },
		"optimistic": func(me int, f *host.Fabric) variants.Protocol { return optimistic.New(me, f) },
		"customized": func(me int, f *host.Fabric) variants.Protocol {
			return ticket.NewHybrid(me, f, limit+10)
		},
		"standing": func(me int, f *host.Fabric) variants.Protocol {
			return ticket.NewStanding(me, f, standing.Most, 0)
		},
		"readbased": func(me int, f *host.Fabric) variants.Protocol { return readbased.New(me, f) },
	}
	for name, make := range protocols {
		t.Run(name, func(t *testing.T) { f(t, newPair(t, name, limit, make)) })
	}
}

// exchange sends one message from rank 0 to rank 1 and checks it.
func (p pair) exchange(t *testing.T, size int) {
	out, in := make([]byte, size), make([]byte, size)
	for i := range out {
		out[i] = byte(7*i + size)
	}
	r := p.Recv(1, 3, in)
	s := p.Send(0, 3, out)
	require.True(t, p.Settle(s, r))
	require.NoError(t, r.Err)
	require.Equal(t, out, in)
}

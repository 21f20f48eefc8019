package coll_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
)

func pick(t *testing.T, override string, c coll.Call) string {
	t.Helper()
	s, err := coll.NewSelection(override)
	require.NoError(t, err)
	return s.Pick(&c).Name
}

func TestSwitchPointsOfTheThesis(t *testing.T) {
	c := coll.Call{Op: coll.Allreduce, Ranks: 8, Elem: 1, Commute: true}
	for bytes, want := range map[int]string{0: "recursive_doubling", 2048: "recursive_doubling", 2049: "rabenseifner",
		1 << 20: "rabenseifner"} {
		c.Send = make([]byte, bytes)
		require.Equal(t, want, pick(t, "", c), bytes)
	}
	c.Op = coll.Reduce
	for bytes, want := range map[int]string{0: "binomial", 2047: "binomial", 2048: "rabenseifner"} {
		c.Send = make([]byte, bytes)
		require.Equal(t, want, pick(t, "", c), bytes)
	}
	for _, op := range []coll.Collective{coll.Bcast, coll.Scatter} {
		require.Equal(t, "binomial", pick(t, "", coll.Call{Op: op, Ranks: 8, Recv: make([]byte, 1<<20)}))
	}
	require.Equal(t, "dissemination", pick(t, "", coll.Call{Op: coll.Barrier, Ranks: 64}))
}

func TestSharedMemory(t *testing.T) {
	shared := func(override string, c coll.Call) bool {
		s, err := coll.NewSelection(override)
		require.NoError(t, err)
		ok, direct := s.Shared(&c)
		require.Equal(t, ok && strings.HasSuffix(override, ":direct"), direct)
		return ok
	}
	require.True(t, shared("", coll.Call{Op: coll.Barrier, Ranks: 3}))
	require.False(t, shared("barrier:tree", coll.Call{Op: coll.Barrier, Ranks: 3}))
	require.True(t, shared("", coll.Call{Op: coll.Gatherv, Ranks: 3}))
	require.False(t, shared("", coll.Call{Op: coll.NeighborAlltoallv, Ranks: 3}))
	require.True(t, shared("", coll.Call{Op: coll.Bcast, Ranks: 3, Recv: make([]byte, 8)}))
	large := coll.Call{Op: coll.Bcast, Ranks: 30, Recv: make([]byte, 8<<20)}
	require.False(t, shared("", large))
	require.True(t, shared("bcast:shared", large))
	require.True(t, shared("bcast:direct", large))
	require.True(t, shared("bcast:direct", coll.Call{Op: coll.Bcast, Ranks: 3}))
	require.Equal(t, "binomial", pick(t, "bcast:shared", large), "what serves calls that are not blocking")
}

func TestOverrides(t *testing.T) {
	c := coll.Call{Op: coll.Allreduce, Ranks: 8, Elem: 1, Commute: true, Send: make([]byte, 8)}
	require.Equal(t, "ring", pick(t, " bcast:scatter_ring, allreduce : ring ", c))
	c.Commute = false
	require.Equal(t, "recursive_doubling", pick(t, "allreduce:ring", c), "a ring would combine in another order")
	s, err := coll.NewSelection("bcast:scatter_ring")
	require.NoError(t, err)
	require.Equal(t, "scatter_ring", s.Forced(coll.Bcast))
	require.Empty(t, s.Forced(coll.Barrier))
	require.Equal(t, "recursive_doubling", pick(t, " ", c), "nothing is forced")
	for override, text := range map[string]string{
		"allreduce":                          `"allreduce" is not collective:algorithm`,
		"allreduce:binomial":                 "recursive_doubling, rabenseifner, ring",
		"all_reduce:ring":                    "there are barrier, bcast",
		"bcast:binomial,x:ring":              `no collective "x"`,
		",":                                  `"" is not collective:algorithm`,
		"allreduce:ring,":                    `"" is not collective:algorithm`,
		"bcast:binomial, bcast:scatter_ring": "bcast is given twice: binomial and scatter_ring",
	} {
		_, err := coll.NewSelection(override)
		require.ErrorContains(t, err, text)
	}
}

func TestTheLastRuleFitsEveryCall(t *testing.T) {
	for op := range coll.Collectives {
		rules := coll.Rules(op)
		last := rules[len(rules)-1]
		require.Zero(t, last.Bytes, op)
		require.Zero(t, last.Ranks, op)
		require.NotEqual(t, "unknown", op.String())
	}
	require.Equal(t, "unknown", coll.Collectives.String())
}

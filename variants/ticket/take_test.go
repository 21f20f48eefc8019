package ticket

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants"
)

// A receive that would be posted now does not overtake one that has been posted and
// has no ticket yet, since the sender is being asked to forget the channel.
func TestTakeDoesNotOvertake(t *testing.T) {
	p := newPairKeeping(t, 0)
	p.in()
	p.Rank[1].In(p.Rank[1].Of(p.World[1]), 0, 4) // asks about the other
	require.True(t, p.in().Forgetting)
	first, second := make([]byte, 4), make([]byte, 4)
	r := p.Recv(1, 3, first)
	require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("one")))
	h, n := p.Fabric[1].Look(0, 1)
	require.NotNil(t, h)
	_, peeked := p.Rank[1].Peek(p.World[1], 0, 3, h, n)
	require.False(t, peeked)
	payload := p.Fabric[1].Take(n)
	_, taken := p.Rank[1].Take(p.World[1], 0, 3, second, h, payload)
	require.False(t, taken)
	require.Nil(t, p.Rank[1].TakeOut(p.World[1], 0, 3, h, payload))
	p.Rank[1].Deliver(*h, payload)
	p.Fabric[1].Release()
	require.True(t, r.Done)
	require.Equal(t, "one\x00", string(first))

	p.Poll(0)
	p.Poll(1)
	require.False(t, p.in().Forgetting)
	require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("two")))
	h, n = p.Fabric[1].Look(0, 1)
	require.NotNil(t, h)
	st, peeked := p.Rank[1].Peek(p.World[1], 0, 3, h, n)
	require.True(t, peeked)
	require.Equal(t, variants.Status{Source: 0, Tag: 3, Size: 3}, st)
	st, taken = p.Rank[1].Take(p.World[1], variants.AnySource, variants.AnyTag, second, h, p.Fabric[1].Take(n))
	require.True(t, taken)
	require.Equal(t, variants.Status{Source: 0, Tag: 3, Size: 3}, st)
	require.Equal(t, "two\x00", string(second))
}

// While an earlier message of a channel waits for a receive, or a receive for any, it is not
// the next message that a receive would take.
func TestTakesNext(t *testing.T) {
	p := newPair(t)
	next := func(tag int32) bool { return p.Rank[1].TakesNext(p.World[1], 0, tag) }
	require.True(t, next(3))
	require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("one")))
	require.True(t, next(3), "it has not been looked at")
	p.Poll(1)
	require.False(t, next(3))
	require.False(t, next(variants.AnyTag))
	require.True(t, next(4))
	buf := make([]byte, 4)
	require.True(t, p.Recv(1, 3, buf).Done)
	require.True(t, next(3))
	r := p.Recv(1, variants.AnyTag, buf)
	require.False(t, next(3))
	require.True(t, p.Rank[0].TrySend(p.World[0], 1, 5, []byte("two")))
	p.Poll(1)
	require.True(t, r.Done)
	require.True(t, next(3))
}

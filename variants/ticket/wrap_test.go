package ticket

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/test/pairtest"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
)

// pair is two ranks of this protocol.
type pair struct{ *pairtest.Pair[*Protocol] }

func newPair(t *testing.T) pair { return newPairKeeping(t, channels.Kept) }

func newPairKeeping(t *testing.T, kept int) pair {
	p, err := pairtest.New(40, func(me int, f *host.Fabric) *Protocol { return NewKeeping(me, f, kept) })
	require.NoError(t, err)
	return pair{p}
}

// The two ends of the channel of tag 3 from rank 0 to rank 1.
func (p pair) out() *channels.Out { return p.Rank[0].To(p.Rank[0].Of(p.World[0]), 1, 3) }
func (p pair) in() *channels.In   { return p.Rank[1].In(p.Rank[1].Of(p.World[1]), 0, 3) }

// One message from rank 0 to rank 1. first says who posts first; the other
// polls before it posts.
func (p pair) transfer(t *testing.T, out, in []byte, first int) {
	var s, r *variants.Request
	for _, i := range []int{first, 1 - first} {
		p.Poll(1 - first)
		if i == 0 {
			s = p.Send(0, 3, out)
		} else {
			r = p.Recv(1, 3, in)
		}
	}
	if !p.Settle(s, r) || s.Err != nil || r.Err != nil || r.Status.Size != len(out) ||
		in[len(out)-1] != out[len(out)-1] {
		require.FailNow(t, "the message has not arrived", "%+v %+v", s, r)
	}
}

// Long receives that eager messages take leave their RTRs behind at the sender.
// They must not stay there (thesis fig. 3.28).
func TestStaleRTRsDoNotGather(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 20_000
	}
	p := newPair(t)
	short, buf := []byte("short"), make([]byte, 100)
	for i := range n {
		p.transfer(t, short, buf, i%2) // the RTR is stored before the send, or comes after it
		if stored := len(p.out().RTRs); stored > 1 {
			require.FailNow(t, "RTRs gather", "%d after %d messages", stored, i+1)
		}
	}
	require.Equal(t, uint64(n/2), p.Rank[0].Count.StaleRTRs)
	require.Empty(t, p.out().RTRs)
}

// Tickets compare as serial numbers: nothing happens when they pass 2^32.
func TestTicketsWrapAround(t *testing.T) {
	p := newPair(t)
	const start = 1<<32 - 10
	p.out().Next = start
	p.in().Next = start
	long, short, buf := make([]byte, 90), []byte("s"), make([]byte, 100)
	for i := range 20 {
		long[89], short[0] = byte(i+1), byte(i+1)
		if i%3 == 0 {
			p.transfer(t, short, buf, i%2)
		} else {
			p.transfer(t, long, buf, i%2)
		}
	}
	require.Equal(t, uint32(10), p.out().Next)
	require.Equal(t, uint32(10), p.in().Next)
	require.Positive(t, p.Rank[0].Count.FastReceives)

	// A cancelled receive on either side of the wrap.
	for _, at := range []uint32{1<<32 - 1, 0} {
		q := newPair(t)
		q.out().Next = at
		q.in().Next = at
		r := q.Recv(1, 3, buf)
		q.Rank[1].Cancel(r)
		require.True(t, q.Settle(r))
		require.True(t, r.Status.Cancelled)
		q.transfer(t, long, buf, 1)
		q.transfer(t, short, buf, 0)
	}
}

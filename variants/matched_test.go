package variants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/variants"
)

func (p pair) probes() bool { return p.name != "optimistic" }

// An extracted message is received by PostMatched alone, whatever is posted
// meanwhile, and later receives get later messages.
func TestExtractedMessageIsReceivedByPostMatchedAlone(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		if !p.probes() {
			_, _, err := p.Rank[1].Extract(p.World[1], 0, 3)
			require.ErrorIs(t, err, optimistic.ErrAssumption)
			r := p.Take(1, nil, nil)
			require.ErrorIs(t, r.Err, optimistic.ErrAssumption)
			return
		}
		for _, sizes := range [][2]int{{8, 8}, {8, long}, {long, 8}, {long, long}} {
			for _, mode := range []variants.Mode{variants.Standard, variants.Synchronous} {
				one, two := fill(sizes[0], 1), fill(sizes[1], 2)
				s1 := p.SendMode(0, 3, one, mode)
				_, found, err := p.Rank[1].Extract(p.World[1], 0, 3)
				require.NoError(t, err)
				require.False(t, found)
				p.Poll(1)
				m, found, err := p.Rank[1].Extract(p.World[1], variants.AnySource, 3)
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, variants.Status{Source: 0, Tag: 3, Size: len(one)}, m.Status())
				_, found, err = p.Rank[1].Probe(p.World[1], 0, 3)
				require.NoError(t, err)
				require.False(t, found)

				in1, in2 := make([]byte, len(one)), make([]byte, len(two))
				r2 := p.Recv(1, 3, in2)
				p.Poll(0)
				p.Poll(1)
				require.False(t, r2.Done)
				require.Equal(t, sizes[0] == 8 && mode == variants.Standard, s1.Done,
					"the send ends when its message is received")
				s2 := p.SendMode(0, 3, two, mode)
				require.True(t, p.Settle(r2, s2))
				r1 := p.Take(1, m, in1)
				require.True(t, p.Settle(r1, s1))
				require.NoError(t, r1.Err)
				require.Equal(t, variants.Status{Source: 0, Tag: 3, Size: len(one)}, r1.Status)
				require.Equal(t, one, in1)
				require.Equal(t, two, in2)
				p.exchange(t, long) // receivers initiate again, and both ends agree
				p.exchange(t, 8)
			}
		}
		require.Zero(t, p.World[1].Active)
	})
}

// A buffer that is too small is not written.
func TestExtractedMessageIsTruncated(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		if !p.probes() {
			return
		}
		for _, size := range []int{8, long} {
			s := p.Send(0, 3, fill(size, 1))
			p.Poll(1)
			m, found, _ := p.Rank[1].Extract(p.World[1], 0, variants.AnyTag)
			require.True(t, found)
			in := make([]byte, size-1)
			r := p.Take(1, m, in)
			require.True(t, p.Settle(r, s))
			require.ErrorIs(t, r.Err, variants.ErrTruncate)
			require.NoError(t, s.Err)
			require.Equal(t, size, r.Status.Size)
			require.Equal(t, make([]byte, size-1), in)
		}
	})
}

// Extracted messages use up credit until they are received, so their number is
// bounded, and give it back.
func TestExtractedMessagesUseCredit(t *testing.T) {
	everyProtocol(t, 4096, func(t *testing.T, p pair) {
		if !p.probes() {
			return
		}
		var held []*variants.Message
		out := make([]byte, 4096)
		for p.Rank[0].TrySend(p.World[0], 1, 3, out) {
			p.Poll(1)
			m, found, _ := p.Rank[1].Extract(p.World[1], 0, 3)
			require.True(t, found)
			held = append(held, m)
			require.LessOrEqual(t, len(held)*4096, variants.CreditWindow)
		}
		require.NotEmpty(t, held)
		require.Panics(t, func() { p.Close(1) })
		for _, m := range held {
			require.True(t, p.Take(1, m, make([]byte, 4096)).Done)
		}
		for range 200 { // the answers are more than a ring holds
			p.Poll(0)
			p.Poll(1)
		}
		require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, out))
	})
}

// A sender that dies leaves what it has sent; only what it would still have to
// write is lost.
func TestSenderOfAnExtractedMessageDies(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		if !p.probes() {
			return
		}
		p.Send(0, 3, fill(8, 1))
		p.Send(0, 3, fill(long, 1))
		p.Poll(1)
		short, found, _ := p.Rank[1].Extract(p.World[1], 0, 3)
		require.True(t, found)
		lost, found, _ := p.Rank[1].Extract(p.World[1], 0, 3)
		require.True(t, found)
		p.Rank[1].PeerFailed(0)
		in := make([]byte, 8)
		r := p.Take(1, short, in)
		require.True(t, r.Done)
		require.NoError(t, r.Err)
		require.Equal(t, fill(8, 1), in)
		r = p.Take(1, lost, make([]byte, long))
		require.True(t, r.Done)
		require.ErrorIs(t, r.Err, variants.ErrPeerDied)
		_, _, err := p.Rank[1].Extract(p.World[1], 0, 3)
		require.ErrorIs(t, err, variants.ErrPeerDied)
		p.Close(1)
	})
}

func fill(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(3*i)
	}
	return b
}

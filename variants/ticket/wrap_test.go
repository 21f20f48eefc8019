package ticket

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/variants"
)

// pair is two ranks over a fabric of this process, polled by the test.
type pair struct {
	fab   [2]*host.Fabric
	rank  [2]*Protocol
	world [2]*variants.Context
}

func newPair(t *testing.T) *pair {
	p := new(pair)
	job := host.NewLocalJob(2)
	for i := range 2 {
		m, err := job.JoinLocal(i)
		require.NoError(t, err)
		p.fab[i] = host.NewFabric(m, 40)
		p.rank[i] = New(i, p.fab[i])
		p.world[i] = &variants.Context{Rank: int32(i)}
		p.rank[i].Open(p.world[i])
	}
	return p
}

// The two ends of the lane of tag 3 from rank 0 to rank 1.
func (p *pair) out() *outLane { return p.rank[0].outLane(p.rank[0].comms.Of(p.world[0]), 1, 3) }
func (p *pair) in() *inLane   { return p.rank[1].inLane(p.rank[1].comms.Of(p.world[1]), 0, 3) }

func (p *pair) poll(i int) {
	for {
		h, payload, ok := p.fab[i].Next()
		if !ok {
			break
		}
		p.rank[i].Deliver(h, payload)
		p.fab[i].Release()
	}
	for {
		slot, n, ok := p.fab[i].Notified()
		if !ok {
			break
		}
		p.rank[i].Notified(slot, n)
	}
	p.rank[i].Progress()
}

func (p *pair) request(i int, recv bool, buf []byte) *variants.Request {
	r := new(variants.Request)
	r.Reset()
	r.Recv, r.Ctx, r.Peer, r.Tag, r.Buf = recv, p.world[i], int32(1-i), 3, buf
	return r
}

// One message from rank 0 to rank 1. first says who posts first; the other
// polls before it posts.
func (p *pair) transfer(t *testing.T, out, in []byte, first int) {
	s, r := p.request(0, false, out), p.request(1, true, in)
	post := func(i int) {
		if i == 0 {
			p.rank[0].PostSend(s)
		} else {
			p.rank[1].PostRecv(r)
		}
	}
	post(first)
	p.poll(1 - first)
	post(1 - first)
	for range 10 {
		if s.Done && r.Done {
			break
		}
		p.poll(0)
		p.poll(1)
	}
	if !s.Done || !r.Done || s.Err != nil || r.Err != nil || r.Status.Size != len(out) || in[len(out)-1] != out[len(out)-1] {
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
		if stored := len(p.out().rtrs); stored > 1 {
			require.FailNow(t, "RTRs gather", "%d after %d messages", stored, i+1)
		}
	}
	require.Equal(t, uint64(n/2), p.rank[0].Count.StaleRTRs)
	require.Empty(t, p.out().rtrs)
}

// Tickets compare as serial numbers: nothing happens when they pass 2^32.
func TestTicketsWrapAround(t *testing.T) {
	p := newPair(t)
	const start = 1<<32 - 10
	p.out().next = start
	p.in().next = start
	long, short, buf := make([]byte, 90), []byte("s"), make([]byte, 100)
	for i := range 20 {
		long[89], short[0] = byte(i+1), byte(i+1)
		if i%3 == 0 {
			p.transfer(t, short, buf, i%2)
		} else {
			p.transfer(t, long, buf, i%2)
		}
	}
	require.Equal(t, uint32(10), p.out().next)
	require.Equal(t, uint32(10), p.in().next)
	require.Positive(t, p.rank[0].Count.FastReceives)

	// A cancelled receive on either side of the wrap.
	for _, at := range []uint32{1<<32 - 1, 0} {
		q := newPair(t)
		q.out().next = at
		q.in().next = at
		r := q.request(1, true, buf)
		q.rank[1].PostRecv(r)
		q.rank[1].Cancel(r)
		q.poll(0)
		q.poll(1)
		require.True(t, r.Done && r.Status.Cancelled)
		q.transfer(t, long, buf, 1)
		q.transfer(t, short, buf, 0)
	}
}

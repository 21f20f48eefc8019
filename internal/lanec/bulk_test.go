//go:build cgo

package lanec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Where in the bulk space of its ring a message goes, and what is prepared for the next one.

// send sends n bytes on the lane from a rank to the other, and pass has them received as well.
func send(t *testing.T, ps [2]*player, from, n int) {
	sent, _ := ps[from].lane.Send(handle, make([]byte, n), int32(1-from), 0)
	require.True(t, sent)
}

func pass(t *testing.T, ps [2]*player, from, n int) {
	send(t, ps, from, n)
	_, ok, _ := ps[1-from].lane.Receive(handle, make([]byte, n), int32(from), 0)
	require.True(t, ok)
}

// Ranks that answer each other use the front of their rings again and again, whoever of
// the two sends in Go. What the one reads is not what the other prepares to write, nor what it
// writes next.
func TestTheLaneBeginsAgain(t *testing.T) {
	for inGo, name := range []string{"C", "Go beside C", "C beside Go"} {
		ps := lent(t)
		const n = across.Least - 48 // all such are hot
		out, in := make([]byte, n), make([]byte, n)
		var ends, prepared [2]uint64
		for i := range 300 {
			for me, a := range ps {
				b := ps[1-me]
				fill(out, 2*i+me)
				if me+1 == inGo {
					a.enter()
					require.True(t, a.Rank[me].TrySend(a.World[me], int32(1-me), 0, out))
					a.Rank[me].LeaseOut(a.World[me], int32(1-me), 0, handle)
				} else {
					sent, _ := a.lane.Send(handle, out, int32(1-me), 0)
					require.True(t, sent)
				}
				end := a.taken()
				require.NotEqual(t, ends[me], end, name)
				ends[me] = end
				if i > 10 {
					require.LessOrEqual(t, end, uint64(8<<10+n+64), name)
					require.Equal(t, end, prepared[me], name)
				}
				up, ok := a.lane.Prepare(a.port)
				require.True(t, ok, name)
				prepared[me] = up % uint64(a.table.Bulk)
				_, ok = a.lane.Prepare(a.port)
				require.False(t, ok, name)
				got, ok, _ := b.lane.Receive(handle, in, int32(me), 0)
				require.True(t, ok)
				require.Equal(t, out, in[:got])
			}
		}
	}
}

// taken is up to where the bulk space of the ring to the peer is taken.
func (p *player) taken() uint64 { return mem.Deref[[4]uint64](p.port.Out)[2] % uint64(p.table.Bulk) }

// What is prepared ends before what the peer may be reading, and a message that has come
// ends it.
func TestPreparingStopsInTime(t *testing.T) {
	const k = limit + 60 // bulk space of a long message
	for _, c := range []struct {
		read, unread []int
		come         bool
		front        bool // where it is prepared
		bytes        int
	}{
		{unread: []int{limit}, bytes: k},
		{read: []int{limit, limit}, unread: []int{300}, bytes: 320},
		{read: []int{limit, limit}, unread: []int{limit, limit}, front: true, bytes: k},
		{read: []int{1000}, unread: []int{limit, limit, limit}, front: true, bytes: 1024},
		{unread: []int{limit, limit, limit, limit}, front: true, bytes: 0},
		{unread: []int{limit}, come: true, bytes: 0},
	} {
		ps := lent(t)
		for _, n := range c.read {
			pass(t, ps, 0, n)
			pass(t, ps, 1, 8) // tells of it
		}
		for _, n := range c.unread {
			send(t, ps, 0, n)
		}
		if c.come {
			send(t, ps, 1, 8)
		}
		want := ps[0].taken() + uint64(c.bytes)
		if c.front {
			want = uint64(c.bytes)
		}
		end, ok := ps[0].lane.Prepare(ps[0].port)
		require.True(t, ok)
		require.Equal(t, want, end%uint64(ps[0].table.Bulk), c)
	}
}

// Behind a window of messages the lane goes on where it is, as a ring does in Go.
func TestAWindowGoesOnOnTheLane(t *testing.T) {
	const n, size = 40, 1024 // more than 32 KiB
	ps := lent(t)
	begun := ps[0].taken()
	for range n {
		pass(t, ps, 0, size)
	}
	pass(t, ps, 1, 8) // tells of it
	pass(t, ps, 0, size)
	require.Equal(t, begun+(n+1)*size, ps[0].taken())
}

// What has been told before a ring began again takes nothing back.
func TestOldNewsOnTheLane(t *testing.T) {
	ps := lent(t)
	pass(t, ps, 0, 300)
	pass(t, ps, 1, 8) // tells of it
	send(t, ps, 0, 300)
	pass(t, ps, 1, 8) // tells of the first still
	send(t, ps, 0, limit)
}

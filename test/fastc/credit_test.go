//go:build linux && cgo

package fastc_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// What ranks tell each other of what they have consumed.

// Once its channels are leased the fast path does not need the protocol: rings go round and round,
// and each rank tells the other what it has consumed.
func TestTheFastPathAlone(t *testing.T) {
	ps := leased(t)
	out, in := make([]byte, limit), make([]byte, limit)
	sent := 0
	for i := range 12000 {
		a, b := ps[i/10%2], ps[1-i/10%2]
		for k, n := range []int{1, 232, 233, limit} {
			fill(out, i*4+k)
			require.True(t, a.path.Send(handle, out[:n], int32(b.me), 0), "message %d of %d bytes", i, n)
			sent += 24 + n
		}
		for k, n := range []int{1, 232, 233, limit} {
			require.True(t, b.path.Arrived(b.port))
			got := 0
			if i%3 > 0 {
				var ok bool
				got, ok = b.path.Receive(handle, in, int32(a.me), 0)
				require.True(t, ok, "message %d of %d bytes", i, n)
			} else {
				slot, pending := b.path.Post(handle, in, int32(a.me), 0)
				require.True(t, pending)
				require.True(t, b.path.Complete(b.port), "pending message %d of %d bytes", i, n)
				got = int(b.table.Slots[slot].Size)
				b.path.Release(slot)
			}
			fill(out, i*4+k)
			require.Equal(t, out[:n], in[:got])
		}
	}
	require.Greater(t, sent, 2*variants.CreditWindow, "no rank has needed credit")
	for i, p := range ps {
		require.False(t, p.path.Arrived(p.port))
		require.Equal(t, p.port.Unmatched, ps[1-i].port.Consumed)
	}
}

// Whoever gets nothing but credit gives the cells back, and wakes a peer that waits for them.
func TestOnlyCredit(t *testing.T) {
	ps := leased(t)
	a, b := ps[0], ps[1]
	out, in := bytes.Repeat([]byte{0xff}, limit), make([]byte, limit)
	for range 3 * a.table.Rings.Cells {
		soon := variants.CreditWindow/4 - 24 - limit - b.port.Consumed
		a.port.Unmatched, b.port.Consumed = a.port.Unmatched+soon, b.port.Consumed+soon
		require.True(t, a.path.Send(handle, out, int32(b.me), 0))
		_, ok := b.path.Receive(handle, in, int32(a.me), 0)
		require.True(t, ok)
		require.Zero(t, b.port.Consumed)
		require.False(t, a.path.Arrived(a.port))
		require.Zero(t, a.port.Unmatched)
	}
}

// Who gives room back for which its peer waits wakes it.
func TestAStarvedPeerIsWoken(t *testing.T) {
	ps := leased(t)
	a, b := ps[0], ps[1]
	for a.path.Send(handle, make([]byte, limit), int32(b.me), 0) {
	}
	require.False(t, a.Rank[0].TrySend(a.World[0], 1, 0, make([]byte, limit)), "it waits for room")
	mark := a.Fabric[0].Mark()
	in := make([]byte, limit)
	for {
		if _, ok := b.path.Receive(handle, in, int32(a.me), 0); !ok {
			break
		}
	}
	require.NotEqual(t, mark, a.Fabric[0].Mark())
}

// What begins like credit is none if it has another size, as the records of fabrics have.
func TestARecordIsNoCredit(t *testing.T) {
	for size, is := range map[int]bool{8: true, 16: false, 0: false} {
		ps := leased(t)
		a, b := ps[0], ps[1]
		before := a.port.Unmatched
		h := packetizer.Header{b.table.Credit[0], b.table.Credit[1]}
		require.True(t, b.Fabric[1].TrySend(0, h, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}[:size]))
		require.Equal(t, !is, a.path.Arrived(a.port))
		require.Equal(t, is, before-a.port.Unmatched == 1)
	}
}

// A message with which credit is due is left to the protocol if the ring is full, or may
// not be used.
func TestNoRoomForCredit(t *testing.T) {
	for _, full := range []bool{true, false} {
		ps := leased(t)
		a, b := ps[0], ps[1]
		a.port.Unmatched += variants.CreditWindow/4 - b.port.Consumed - 40
		b.port.Consumed = variants.CreditWindow/4 - 40
		if full {
			for sent := true; sent; {
				sent = b.path.Send(handle, make([]byte, 8), int32(a.me), 0)
			}
		} else {
			b.port.Shut = 1
		}
		in := make([]byte, 16)
		a.send(1, 16)
		_, ok := b.path.Receive(handle, in, int32(a.me), 1)
		require.False(t, ok)
		if !full {
			b.port.Shut = 0
		}
		b.recv(1, 16, false)
		for range 300 {
			a.poll()
			b.poll()
		}
		require.True(t, b.settled())
		require.Zero(t, b.port.Consumed)
	}
}

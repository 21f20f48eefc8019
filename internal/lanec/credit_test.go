//go:build cgo

package lanec_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// What ranks tell each other of what they have consumed.

// Once its lanes are lent, the lane does not need the protocol: rings go round and round,
// and each rank tells the other what it has consumed.
func TestTheLaneAlone(t *testing.T) {
	ps := lent(t)
	out, in := make([]byte, limit), make([]byte, limit)
	sent, credits := int64(0), 0
	for i := range 12000 {
		a, b := ps[i/10%2], ps[1-i/10%2]
		for k, n := range []int{1, 232, 233, limit} {
			fill(out, i*4+k)
			sent, _ := a.lane.Send(handle, out[:n], int32(b.me), 0)
			require.True(t, sent, "message %d of %d bytes", i, n)
		}
		for k, n := range []int{1, 232, 233, limit} {
			credits += b.credits()
			sent += int64(24 + n)
			got := 0
			if i%3 > 0 {
				var ok bool
				got, ok, _ = b.lane.Receive(handle, in, int32(a.me), 0)
				require.True(t, ok, "message %d of %d bytes", i, n)
			} else {
				slot, noted := b.lane.Note(handle, in, int32(a.me), 0)
				require.True(t, noted)
				done, _ := b.lane.Progress(b.port)
				require.True(t, done, "noted message %d of %d bytes", i, n)
				got = int(b.table.Slots[slot].Size)
				b.lane.Release(slot)
			}
			fill(out, i*4+k)
			require.Equal(t, out[:n], in[:got])
		}
	}
	require.Greater(t, sent, int64(2*variants.CreditWindow), "no rank has needed credit")
	for i, p := range ps {
		credits += p.credits()
		require.Equal(t, p.port.Unmatched, ps[1-i].port.Consumed)
	}
	require.EqualValues(t, 2*(sent/2/(variants.CreditWindow/4)), credits)
}

// credits takes what the peer tells of what it has consumed, and returns how often.
func (p *player) credits() (n int) {
	for p.port.In != 0 {
		done, _ := p.lane.Credit(p.port)
		if !done {
			break
		}
		n++
	}
	return n
}

// Whoever gets nothing but credit gives the cells back, and learns what bulk space it has again.
func TestOnlyCredit(t *testing.T) {
	ps := lent(t)
	a, b := ps[0], ps[1]
	out, in := bytes.Repeat([]byte{0xff}, limit), make([]byte, limit)
	for range a.table.Cells { // so that something is in the cells already
		sent, _ := b.lane.Send(handle, out[:232], int32(a.me), 0)
		require.True(t, sent)
		_, ok, _ := a.lane.Receive(handle, in, int32(b.me), 0)
		require.True(t, ok)
	}
	told := 0
	for range 3 * a.table.Cells {
		mem.Deref[[17]uint64](b.port.In)[16] = 1 // who sends waits for room
		soon := variants.CreditWindow/4 - 24 - limit - b.port.Consumed
		a.port.Unmatched, b.port.Consumed = a.port.Unmatched+soon, b.port.Consumed+soon
		sent, _ := a.lane.Send(handle, out, int32(b.me), 0)
		require.True(t, sent)
		_, ok, starved := b.lane.Receive(handle, in, int32(a.me), 0)
		require.True(t, ok)
		if b.port.Consumed > 0 {
			require.True(t, starved)
			told++
			continue
		}
		require.Equal(t, 1, a.credits())
		require.Zero(t, a.port.Unmatched)
		bulk := mem.Deref[[4]uint64](a.port.Out) // cells, of which credit; bulk, of which credit
		require.Equal(t, bulk[2], bulk[3])
	}
	require.Positive(t, told)
}

// What begins like credit is none if it has another size, as the records of fabrics have.
func TestARecordIsNoCredit(t *testing.T) {
	ps := lent(t)
	a, b := ps[0], ps[1]
	sent, _ := b.lane.Send(handle, make([]byte, 8), int32(a.me), 0)
	require.True(t, sent)
	head := mem.Deref[[25]uint64](a.port.In)[24]
	cell := mem.Deref[uint64](a.port.In + a.table.Cell + head%uint64(a.table.Cells)*256)
	w := *cell
	for size, is := range map[uint64]bool{8: true, 0xffff: false, 0: false} {
		before := *a.port
		*cell = w&0xffff | size<<16 | a.table.Credit[0]
		done, _ := a.lane.Credit(a.port)
		require.Equal(t, is, done)
		require.Equal(t, is, before.Unmatched != a.port.Unmatched || head != mem.Deref[[25]uint64](a.port.In)[24])
		mem.Deref[[25]uint64](a.port.In)[24] = head
	}
}

// A message with which credit is due is left to the protocol if the ring is full, or may
// not be used.
func TestNoRoomForCredit(t *testing.T) {
	for _, full := range []bool{true, false} {
		ps := lent(t)
		a, b := ps[0], ps[1]
		a.port.Unmatched += variants.CreditWindow/4 - b.port.Consumed - 40
		b.port.Consumed = variants.CreditWindow/4 - 40
		if full {
			for sent := true; sent; {
				sent, _ = b.lane.Send(handle, make([]byte, 8), int32(a.me), 0)
			}
		} else {
			b.port.Shut = 1
		}
		in := make([]byte, 16)
		a.send(1, 16)
		_, ok, _ := b.lane.Receive(handle, in, int32(a.me), 1)
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

// A message that was taken out of a lane by a matched probe is the protocol's again when a receive is
// posted for it: it counts as consumed once, and then nothing is left of it.
func TestExtracted(t *testing.T) {
	ps := lent(t)
	out, in := make([]byte, 1000), make([]byte, limit)
	fill(out, 1)
	before := ps[1].port.Consumed
	sent, _ := ps[0].lane.Send(handle, out, 1, 2)
	require.True(t, sent)
	n, ok, _ := ps[1].lane.Receive(handle, in, 0, 2)
	require.True(t, ok)
	consumed := ps[1].port.Consumed
	require.Equal(t, before+24+1000, consumed)

	p, ctx := ps[1].Rank[1], ps[1].World[1]
	m := p.Extracted(ctx, 0, 2, in[:n])
	clear(in)
	require.Equal(t, variants.Status{Source: 0, Tag: 2, Size: 1000}, m.Status())
	require.Equal(t, 1, p.Strays())
	buf := make([]byte, 1000)
	r := &variants.Request{Ctx: ctx, Buf: buf, Slot: -1}
	active := ctx.Active
	p.PostMatched(r, m)
	require.True(t, r.Done)
	require.NoError(t, r.Err)
	require.Equal(t, out, buf)
	require.Equal(t, m.Status(), r.Status)
	require.Equal(t, consumed, ps[1].port.Consumed)
	require.Equal(t, active-1, ctx.Active)
	require.Zero(t, p.Strays())
}

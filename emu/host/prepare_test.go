package host

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/packetizer"
)

// A rank that waits prepares, once, what its next message is written to. It stops at what the
// peer may be reading, and at a message that has come. (TestPreparingStopsInTime of package
// lanec is about the same in C.)
func TestPrepare(t *testing.T) {
	const long = mostInFront - 60 // payload
	for _, c := range []struct {
		read, unread []int
		come         bool
		again        bool // prepared at the front
		bytes        int
	}{
		{unread: []int{long}, bytes: mostInFront},
		{read: []int{long, long}, unread: []int{300}, bytes: 320},
		{read: []int{long, long}, unread: []int{long, long}, again: true},
		{read: []int{1000}, unread: []int{6000, 6000}, again: true, bytes: 1024},
		{read: []int{long, 300}, again: true, bytes: 320},
		{read: []int{long, 2 * mostInFront}, unread: []int{2 * mostInFront}, bytes: 2 * mostInFront},
		{unread: []int{long, long, long, long, long, long, long, long}, again: true},
		{unread: []int{long}, come: true},
	} {
		fabs := attachAll(t, 2)
		f := fabs[0]
		send := func(from, n int) {
			require.True(t, fabs[from].TrySend(1-from, packetizer.Header{}, make([]byte, n)))
		}
		receive := func(me, n int) {
			_, b, ok := fabs[me].Next()
			require.True(t, ok)
			require.Len(t, b, n)
			fabs[me].Release()
		}
		for _, n := range c.read {
			send(0, n)
			receive(1, n)
			send(1, 8) // tells of it
			receive(0, 8)
		}
		for _, n := range c.unread {
			send(0, n)
		}
		if c.come {
			send(1, 8)
		}
		in, h, g := f.way(1), f.job.ringOf(0, 1).head, &f.job.geo
		want := h.bulkTail%g.bulk + uint64(c.bytes)
		if c.again {
			want = uint64(c.bytes)
		}
		require.NotZero(t, in.back.head.recent)
		require.Equal(t, want%g.bulk, in.prepare(g)%g.bulk, c)
		require.Zero(t, in.back.head.recent)
	}
}

// Whoever waits for a message has prepared, by whatever call it waits.
func TestWhoWaitsPrepares(t *testing.T) {
	for name, wait := range map[string]func(f *Fabric){
		"Glance":   func(f *Fabric) { f.Glance(f.Mark()) },
		"NextFrom": func(f *Fabric) { f.NextFrom(1, 2) },
	} {
		fabs := attachAll(t, 2)
		f := fabs[0]
		f.occupancy, f.job.localBells = dedicated, nil // as in a process of its own
		require.True(t, fabs[1].TrySend(0, packetizer.Header{}, nil))
		_, _, ok := f.Next()
		require.True(t, ok)
		f.Release()
		require.True(t, f.TrySend(1, packetizer.Header{}, make([]byte, 1000)))
		in := f.way(1)
		require.NotZero(t, in.back.head.recent)
		wait(f)
		require.Zero(t, in.back.head.recent, name)
	}
}

// The cells of later messages are made the producer's own as long as nothing unread is in them,
// however far the consumer is behind.
func TestOwnCells(t *testing.T) {
	const n, laps = cellInline - 8, 3
	for behind := range localCells {
		fabs := attachAll(t, 2)
		sent, read := 0, 0
		for read < laps*localCells {
			for sent-read <= behind && fabs[0].TrySend(1, packetizer.Header{0, uint64(sent), ^uint64(sent)}, bytes.Repeat([]byte{byte(sent) | 1}, n)) {
				sent++
			}
			h, b, ok := fabs[1].Next()
			require.True(t, ok)
			require.Equal(t, []uint64{uint64(read), ^uint64(read)}, h[1:])
			require.Equal(t, bytes.Repeat([]byte{byte(read) | 1}, n), b)
			fabs[1].Release()
			read++
		}
		r, g := fabs[0].job.ringOf(0, 1), &fabs[0].job.geo
		at := r.head.tail + 2*owned
		r.head.credit = r.head.tail
		r.head.released.Store(r.head.tail)
		*r.cell(g, at-1) = cell{header: packetizer.Header{1, 2, 3}}
		for i := range r.cell(g, at-1).payload {
			r.cell(g, at-1).payload[i] = 4
		}
		r.ownCells(g, n)
		c := r.cell(g, at-1)
		require.Equal(t, packetizer.Header{1, 2, 0}, c.header)
		require.Equal(t, 3*8, bytes.Count(c.payload[:], []byte{0})) // a word of each line that follows
	}
}

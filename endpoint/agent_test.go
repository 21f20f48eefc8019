package endpoint

import (
	"testing"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

// An agent writes from its own node to any other, and says what it could not do.
func TestAgent(t *testing.T) {
	d := device(t, 1, 1, 1)
	var all []*Endpoint
	var entries []Entry
	for node := range 3 {
		var b Blocks
		b.Packetizer, b.Mailbox, b.Channel = d.Blocks(node)
		e, err := Attach(b, group)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		all, entries = append(all, e), append(entries, e.Entry())
	}
	join := func() {
		for i, e := range all {
			e.Join(i, entries)
		}
	}
	join()
	me := &peer{Endpoint: all[1], next: make([]uint64, 3), sent: make([]uint64, 3)}
	until := func(what string, cond func() bool) {
		require.NoError(t, me.until(what, func() (bool, error) { return cond(), nil }))
	}
	require.True(t, me.HasAgent())
	dst := make([]byte, 300<<10)
	slot, w := me.Expose(dst)
	src := make([]byte, len(dst))
	fill(src, 2, 1)
	offered, from := all[2].Offer(src)
	want := rdmaeng.Notification{int32(len(src)), -7, 1, 0}
	require.True(t, me.Fetch(2, from, w, len(src), want))
	until("notification", func() bool {
		s, n, ok := me.Notified()
		if ok {
			require.Equal(t, slot, s)
			require.Equal(t, want, n)
			require.NoError(t, check(dst, 2, 1))
		}
		return ok
	})
	until("the end of the write", me.Drained)
	require.NoError(t, me.Refused())
	all[2].Withdraw(offered)
	_, _, ok := all[2].Next()
	require.False(t, ok, "the agent's messages are not the rank's")

	for name, c := range map[string]struct {
		from int
		src  uint64
		dst  rdmaeng.Window
		is   error
	}{
		"source that is not mapped": {2, all[2].Offset() + 64, w, rdmaeng.ErrFault},
		"source on another node":    {2, all[0].Offset() + 64, w, packetizer.ErrNoDevice},
		"no such channel":           {2, all[2].Offset() | 9<<48, w, packetizer.ErrNoDevice},
		"notification address": {2, from.Addr, rdmaeng.Window{Addr: w.Addr, Notify: w.Notify + 4},
			rdmaeng.ErrMisaligned},
	} {
		require.True(t, me.Fetch(c.from, rdmaeng.Window{Addr: c.src}, c.dst, 8, want), name)
		until("answer", me.Drained)
		var e *packetizer.RefusedError
		require.ErrorAs(t, me.Refused(), &e, name)
		require.ErrorIs(t, e, c.is, name)
		require.Equal(t, c.from, e.To, name)
		require.False(t, me.Fetch(c.from, from, w, 8, want), "the way there is closed")
		join()
	}
	require.EqualValues(t, 2, me.Counts().Packetizer.Faults)
	require.EqualValues(t, 2, me.Counts().Packetizer.BadRoute)
}

package variants

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/packetizer"
)

// counting counts the headers that are read where they lie.
type counting struct {
	packetizer.Port
	read int
}

func (c *counting) TrySendAt(to int, h *packetizer.Header, payload []byte) bool {
	c.read++
	return c.Port.TrySend(to, *h, payload)
}

// A port that reads headers where they lie is given them so, one that only has TrySend by value; both with the same
// words.
func TestHeadersReachThePort(t *testing.T) {
	j := host.NewLocalJob(2)
	var fabs [2]*host.Fabric
	for i := range fabs {
		m, err := j.JoinLocal(i)
		require.NoError(t, err)
		fabs[i] = host.NewFabric(m, 0)
	}
	require.NotNil(t, NewOutbox(0, fabs[0], new(Counters)).reader, "the host's fabric reads them")

	type byValue struct{ packetizer.Port }
	reads := &counting{Port: fabs[0]}
	for _, p := range []packetizer.Port{reads, byValue{fabs[0]}} {
		o := NewOutbox(0, p, new(Counters))
		h := o.Pack(Envelope{Kind: EnvD, Ctx: 7, Tag: 3, Ticket: 9})
		require.True(t, o.EagerPacked(o.Peer(1), EnvD, &h, []byte{1, 2}, false))
		got, payload, ok := fabs[1].Next()
		require.True(t, ok)
		want, e := Unpack(h), Unpack(got)
		require.Equal(t, want, e)
		require.Equal(t, []byte{1, 2}, payload)
		fabs[1].Release()
	}
	require.Equal(t, 1, reads.read)
}

// An account that moves takes its counts along, and those of peers to come are made where the others are.
func TestAccountsMove(t *testing.T) {
	j := host.NewLocalJob(2)
	m, err := j.JoinLocal(0)
	require.NoError(t, err)
	o := NewOutbox(0, host.NewFabric(m, 0), new(Counters))
	o.Peer(1).Unmatched, o.Peer(1).Consumed, o.Peer(1).Shut = 5, 6, 1
	places := map[int32]*Account{}
	o.MoveAccounts(func(world int32) *Account {
		places[world] = &Account{World: world}
		return places[world]
	})
	require.Equal(t, Account{Unmatched: 5, Consumed: 6, Shut: 1, World: 1}, *places[1])
	require.Same(t, places[1], o.Peer(1).Account)
	require.Same(t, o.Peer(0).Account, places[0])
}

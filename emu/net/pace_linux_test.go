package net

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A connection has bbr only while it loses much.
func TestPace(t *testing.T) {
	l := ends(t, 2)[0].links[1]
	control := func() string {
		name, err := unix.GetsockoptString(l.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		require.NoError(t, err)
		return name
	}
	require.NotEqual(t, paced, control())
	if err := unix.SetsockoptString(l.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, paced); err != nil {
		t.Skipf("this user or this kernel has no %s: %v", paced, err)
	}
	require.True(t, unpace(l.fd))
	require.Equal(t, quick, control())
	require.False(t, unpace(l.fd), "what is not paced stays")
	l.unpaced = true
	for _, few := range []unix.TCPInfo{
		{},
		{Segs_out: 20, Total_retrans: lossLeast - 1},
		{Segs_out: 100_000, Total_retrans: 100_000/lossShare - 1},
	} {
		l.repace(&few)
		require.Equal(t, quick, control())
	}
	l.repace(&unix.TCPInfo{Segs_out: 20, Total_retrans: lossLeast})
	require.Equal(t, paced, control())
	require.False(t, l.unpaced)
}

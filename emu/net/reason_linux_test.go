package net

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/packetizer"
)

// requireLost demands that a rank takes another one for dead, and says why.
func requireLost(t *testing.T, f *Fabric, rank int, why string) {
	t.Helper()
	require.Eventually(t, func() bool {
		f.Next()
		return f.Dead(rank)
	}, time.Minute, time.Millisecond)
	require.EqualError(t, f.Why(rank), why)
}

// A frame that no rank sends is the end of who has sent it, and the error says that.
func TestUnsoundFrame(t *testing.T) {
	for what, wrong := range map[string]frame{
		"kind":  {kind: bye + 1},
		"size":  {kind: message, size: 1 << 30},
		"piece": {kind: piece, word: packetizer.Header{0, 0, 2}},
		"fetch": {kind: fetch, size: 7},
		"bye":   {kind: bye, size: 1},
	} {
		t.Run(what, func(t *testing.T) {
			f := ends(t, 2)
			require.NoError(t, f[0].Why(1))
			var b [headerSize]byte
			wrong.encode(b[:])
			_, err := unix.Write(f[0].links[1].fd, b[:])
			require.NoError(t, err)
			requireLost(t, f[1], 0, "rank 0 has sent what no rank of this version sends: see whether all hosts have "+
				"the same exanet")
			requireLost(t, f[0], 1, "the connection to rank 1 has ended: see how that rank has ended")
		})
	}
}

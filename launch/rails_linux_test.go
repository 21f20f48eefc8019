package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/netns"
)

// Hosts with two networks, of which EXANET_NETWORK chooses.

// talkBytes is less than what two pairs of ranks on two hosts send in a round of talkRole.
const talkBytes = 8 << 20

// talksOver has two hosts of two ranks each talk, and demands that all that they send goes over one rail.
func talksOver(t *testing.T, w *netns.Network, networks string, rail int) {
	t.Helper()
	used, unused := w.Carried(rail), w.Carried(1-rail)
	j := prepareTalk(t, w, "node0:2,node1:2", 1)
	j.Env = append(j.Env, "EXANET_NETWORK="+networks)
	require.Zero(t, j.run(t), j.err.String())
	require.Empty(t, j.err.String())
	require.Greater(t, w.Carried(rail)-used, int64(talkBytes))
	require.Equal(t, unused, w.Carried(1-rail))
}

func TestRails(t *testing.T) {
	w := netns.WithRails(t, 2, 2)
	for _, c := range []struct {
		networks string
		rail     int
	}{
		{"", 0},
		{"tun0", 0},
		{"tun1", 1},
		{"tun1,tun0", 1},
		{"10.77.8.0/24", 1},
		{"eth7,fd00::/8,10.77.8.2,10.77.8.1", 1}, // each of the addresses is one host's
		{"10.77.0.0/16", 0},
	} {
		t.Run(c.networks, func(t *testing.T) { talksOver(t, w, c.networks, c.rail) })
	}
}

// If the better rail does not answer the other one is taken, for the meeting as well.
func TestRailsOneIsCut(t *testing.T) {
	w := netns.WithRails(t, 2, 2)
	w.CutRail(1, true)
	talksOver(t, w, "tun1,tun0", 0)
	require.NotZero(t, w.Lost())
}

// A host that has none of the networks says so, and what it has.
func TestRailsNone(t *testing.T) {
	w := netns.WithRails(t, 2, 2)
	j := prepareTalk(t, w, "node0:2,node1", 1)
	j.Env = append(j.Env, "EXANET_NETWORK=eth7,10.77.7.1", patientVar+"=")
	require.Equal(t, 2, j.run(t))
	require.Regexp(t, `^host node1: cannot start 1 ranks: EXANET_NETWORK="eth7,10.77.7.1" names no `+
		`address of its host \S+, which has 10\.77\.7\.2 \(tun0\), 10\.77\.8\.2 \(tun1\)[^;]*; `+
		`name one of these, or none\n$`, j.err.String())
}

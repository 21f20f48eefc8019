package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Ranks of several hosts do not wait for each other on a device that is one host's.
func TestDeviceOfOneHost(t *testing.T) {
	for _, device := range []string{deviceHost, devicePrototype} {
		m, err := partOf(2, func(i int) bool { return i == 0 }).JoinLocal(0)
		require.NoError(t, err)
		_, err = openFabric(m, &settings{device: device})
		require.EqualError(t, err, "rank 1 is on another host, which the device "+device+" does not reach: choose the "+
			"device network, or none")
	}
}

// A device that promises too little for a protocol is refused.
func TestOrderOfADevice(t *testing.T) {
	o := &settings{device: "wire", variant: "ticket"}
	needs := rdmaeng.MessagesInOrder | rdmaeng.WritesFirst
	require.NoError(t, ordered(needs, rdmaeng.AllOrder, o))
	require.EqualError(t, ordered(needs, rdmaeng.DataFirst, o), "the device wire does not promise that messages come "+
		"in order, writes come before later messages, which the protocol ticket needs: choose another protocol or "+
		"device")
}

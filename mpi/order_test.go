package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// A device that promises too little for a protocol is refused.
func TestOrderOfADevice(t *testing.T) {
	o := &settings{device: "wire", variant: "ticket"}
	needs := rdmaeng.MessagesInOrder | rdmaeng.WritesFirst
	require.NoError(t, ordered(needs, rdmaeng.AllOrder, o))
	require.EqualError(t, ordered(needs, rdmaeng.DataFirst, o), "the device wire does not promise that messages come "+
		"in order, writes come before later messages, which the protocol ticket needs: choose another protocol or "+
		"device")
}

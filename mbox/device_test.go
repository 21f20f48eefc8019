package mbox_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/stretchr/testify/require"
)

func eventually(t *testing.T, what string, cond func() bool) {
	for end := time.Now().Add(time.Minute); !cond(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), "gave up waiting: %s", what)
	}
}

func TestIdentity(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 3, PDIDs: []uint32{8, 11}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, block, channels := d.Blocks(0)

	node, err := mbox.NodeIDAt(block.Path, block.Offset)
	require.NoError(t, err)
	require.EqualValues(t, 3, node)
	_, err = mbox.NodeIDAt(block.Path, channels.Offset)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)

	b, err := mbox.Attach(block, 11)
	require.NoError(t, err)
	require.EqualValues(t, 3, b.NodeID())
	require.EqualValues(t, 11, b.ProtectionID())
	require.Equal(t, packetizer.MailboxAddress(3, 11, 1), b.Address())
	_, err = mbox.Attach(block, 11)
	require.ErrorIs(t, err, packetizer.ErrExhausted)
	_, err = mbox.Attach(block, 12)
	require.ErrorIs(t, err, packetizer.ErrProtection)
	_, err = mbox.Attach(packetizer.Block{Path: fmt.Sprintf("/proc/%d/fd/none", os.Getpid())}, 0)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)
	require.NoError(t, b.Close())
}

// Slots are used round after round, a message stays what it is until Release,
// and a new owner does not see what was left for the former one.
func TestSlotsWrapAndNewOwner(t *testing.T) {
	const depth = 3
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1}}}, Depth: depth})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	ports, boxes, _ := d.Blocks(0)
	p, err := packetizer.Attach(ports, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()

	sent := uint64(0)
	for range 3 {
		b, err := mbox.Attach(boxes, 0)
		require.NoError(t, err)
		p.SetBook([]packetizer.Address{b.Address()})
		_, _, ok := b.Next()
		require.False(t, ok, "message for a former owner")
		for range 4 * depth {
			eventually(t, "window", func() bool { return p.TrySend(0, packetizer.Header{0, sent}, []byte{byte(sent)}) })
			var h packetizer.Header
			var body []byte
			eventually(t, "message", func() bool { h, body, ok = b.Next(); return ok })
			eventually(t, "later message", func() bool {
				return p.TrySend(0, packetizer.Header{0, sent + 1}, []byte{byte(sent + 1)})
			})
			eventually(t, "delivery", p.Drained)
			require.Equal(t, sent, h[1])
			require.Equal(t, []byte{byte(sent)}, body)
			b.Release()
			h, _, ok = b.Next()
			require.True(t, ok)
			require.Equal(t, sent+1, h[1])
			b.Release()
			sent += 2
		}
		require.True(t, p.TrySend(0, packetizer.Header{}, nil))
		eventually(t, "delivery", p.Drained)
		require.NoError(t, b.Close())
		require.True(t, p.TrySend(0, packetizer.Header{}, nil), "a message to nobody is taken and lost")
		eventually(t, "loss", p.Drained)
		require.NoError(t, p.Refused())
	}
}

// A mailbox that says that it has more slots than registers is refused, or one without any.
func TestSlotsThatAreNotThere(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{8}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, block, _ := d.Blocks(0)
	f, err := os.OpenFile(block.Path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	var right [8]byte
	_, err = f.ReadAt(right[:], block.Offset+mmio.RegUnits)
	require.NoError(t, err)
	n := binary.LittleEndian.Uint64(right[:])
	for _, units := range []uint64{0, n + 1<<10, 1 << 40, 1<<63 + 1} {
		_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, units), block.Offset+mmio.RegUnits)
		require.NoError(t, err)
		_, err = mbox.Attach(block, 0)
		require.ErrorIs(t, err, packetizer.ErrNoDevice, units)
		require.ErrorContains(t, err, "UNITS is")
	}
	_, err = f.WriteAt(right[:], block.Offset+mmio.RegUnits)
	require.NoError(t, err)
	b, err := mbox.Attach(block, 0)
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

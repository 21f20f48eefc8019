package regs

import (
	"os"
	"testing"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

// interfaces attaches to one interface of each kind on each node, the nodes in order.
type interfaces struct {
	ports    []*packetizer.Device
	boxes    []*mbox.Device
	channels []*rdmaeng.Device
}

func attach(t *testing.T, d *Device) (all interfaces) {
	var book []packetizer.Address
	for i := range d.nodes {
		pb, mb, cb := d.Blocks(i)
		p, err := packetizer.Attach(pb, 0)
		require.NoError(t, err)
		b, err := mbox.Attach(mb, 0)
		require.NoError(t, err)
		c, err := rdmaeng.AllocChannel(cb, 0)
		require.NoError(t, err)
		book = append(book, b.Address())
		all.ports, all.boxes, all.channels = append(all.ports, p), append(all.boxes, b), append(all.channels, c)
		t.Cleanup(func() {
			require.NoError(t, p.Close())
			require.NoError(t, b.Close())
			require.NoError(t, c.Close())
		})
	}
	for _, p := range all.ports {
		p.SetBook(book)
	}
	return all
}

func device(t *testing.T, cfg Config) *Device {
	d, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// Every node reaches every other by its ID alone: a message and a write from each to each arrive there and nowhere
// else, whatever the IDs are and wherever the registers lie.
func TestNodes(t *testing.T) {
	ids := []uint8{7, 0, 255, 64}
	cfg := Config{Depth: 4}
	for _, id := range ids {
		cfg.Nodes = append(cfg.Nodes, Node{ID: id, PDIDs: []uint32{9}})
	}
	file, err := os.Create(t.TempDir() + "/registers")
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(cfg.Size(2)))
	cfg.Nodes[2].File = file
	d := device(t, cfg)
	require.Equal(t, file.Name(), d.Path(2))
	all := attach(t, d)
	for to, id := range ids {
		require.EqualValues(t, id, all.boxes[to].NodeID())
		require.Equal(t, mmio.ChannelOffset(id, 0), all.channels[to].Offset())
		dst := make([]byte, len(ids))
		for from := range ids {
			require.True(t, all.ports[from].TrySend(to, packetizer.Header{0, uint64(from), uint64(to)}, nil))
			eventually(t, "message", func() bool {
				h, _, ok := all.boxes[to].Next()
				if ok {
					require.Equal(t, packetizer.Header{0, uint64(from), uint64(to)}, h)
					all.boxes[to].Release()
				}
				return ok
			})
			slot, w := all.channels[to].Expose(dst[from:])
			x := &rdmaeng.Transfer{Src: []byte{byte(from + 1)}, Dst: w}
			all.channels[from].Start(x)
			eventually(t, "write", func() bool {
				done, err := all.channels[from].Test(x)
				require.NoError(t, err)
				return done
			})
			s, _, ok := all.channels[to].Notified()
			require.True(t, ok)
			require.Equal(t, slot, s)
			all.channels[to].Withdraw(slot)
		}
		require.Equal(t, []byte{1, 2, 3, 4}, dst)
	}
	for i := range ids {
		_, _, ok := all.boxes[i].Next()
		require.False(t, ok, "a message went to another node as well")
		require.NoError(t, all.ports[i].Refused())
	}
}

// A node that is not there is not reached, nor is another job on one that is.
func TestOtherNodes(t *testing.T) {
	for _, c := range []struct {
		address packetizer.Address
		channel uint64
		want    error
	}{
		{packetizer.MailboxAddress(3, 9, 0), mmio.ChannelOffset(3, 0), packetizer.ErrNoDevice},
		{packetizer.MailboxAddress(2, 9, 1), mmio.ChannelOffset(2, 1), packetizer.ErrNoDevice},
		{packetizer.MailboxAddress(2, 9, 0), mmio.ChannelOffset(2, 0), packetizer.ErrProtection},
		{packetizer.MailboxAddress(2, 8, 0), mmio.ChannelOffset(2, 0), packetizer.ErrProtection},
	} {
		t.Run(c.address.String(), func(t *testing.T) {
			d := device(t, Config{Nodes: []Node{{ID: 1, PDIDs: []uint32{9}}, {ID: 2, PDIDs: []uint32{8}}}})
			all := attach(t, d)
			p := all.ports[0]
			p.SetBook([]packetizer.Address{c.address})
			require.True(t, p.TrySend(0, packetizer.Header{}, nil))
			eventually(t, "answer", p.Drained)
			require.ErrorIs(t, p.Refused(), c.want)
			w := rdmaeng.Window{Addr: c.channel + 64, Notify: c.channel + 64}
			x := &rdmaeng.Transfer{Src: make([]byte, 8), Dst: w}
			all.channels[0].Start(x)
			var failed error
			eventually(t, "answer", func() bool {
				done, err := all.channels[0].Test(x)
				failed = err
				return done
			})
			require.ErrorIs(t, failed, c.want)
			_, _, ok := all.boxes[1].Next()
			require.False(t, ok)
		})
	}
}

// What enters one directory appears in the others, and so does its withdrawal.
func TestDirectoriesAgree(t *testing.T) {
	d := device(t, Config{Nodes: []Node{{ID: 1, PDIDs: []uint32{9, 9}}, {ID: 2, PDIDs: []uint32{9}}}})
	reg := func(node, rank, at int) mmio.Reg { return d.nodes[node].mem.Reg(mmio.DirBase + rank*mmio.DirSize + at) }
	require.EqualValues(t, 3, d.nodes[1].mem.Reg(mmio.RegCount).Load(), "an entry for every rank there can be")
	reg(1, 2, mmio.EntryMailbox).Store(77)
	reg(1, 2, mmio.EntryOffset).Store(78)
	reg(1, 2, mmio.EntryState).Store(mmio.EntryReady)
	eventually(t, "copy", func() bool { return reg(0, 2, mmio.EntryState).Load() == mmio.EntryReady })
	require.EqualValues(t, 77, reg(0, 2, mmio.EntryMailbox).Load())
	require.EqualValues(t, 78, reg(0, 2, mmio.EntryOffset).Load())
	reg(1, 2, mmio.EntryState).Store(mmio.EntryEmpty)
	eventually(t, "withdrawal", func() bool { return reg(0, 2, mmio.EntryState).Load() == mmio.EntryEmpty })
}

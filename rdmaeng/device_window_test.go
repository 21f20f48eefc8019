package rdmaeng_test

import (
	"testing"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

// pinned runs a device with one channel that is not coherent, of so many bytes.
func pinned(t *testing.T, bytes int) rdmaeng.Block {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1}, Window: bytes, Incoherent: true}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	_, _, block := d.Blocks(0)
	return block
}

// A former owner has ended with changed lines in the caches, all over the memory:
// none of them may get over what the device writes for the next owner.
func TestChangedLinesOfAFormerOwner(t *testing.T) {
	block := pinned(t, 1<<20)
	p, err := mmio.Claim(block, mmio.KindChannel, 0)
	require.NoError(t, err)
	for i := range p.Pinned.Bytes() {
		p.Pinned.Bytes()[i] = 0xdd
	}
	require.NoError(t, p.Release())

	c, err := rdmaeng.AllocChannel(block, 0)
	require.NoError(t, err)
	for i := range 200 {
		dst := make([]byte, 1000+i)
		slot, w := c.Expose(dst)
		x := &rdmaeng.Transfer{Src: pattern(len(dst), i), Dst: w, Notify: rdmaeng.Notification{int32(len(dst)), 0, 0,
			0}}
		c.Start(x)
		require.NoError(t, finish(t, c, x))
		eventually(t, "notification", func() bool { _, _, ok := c.Notified(); return ok })
		require.Equal(t, x.Src, dst)
		c.Withdraw(slot)
	}
	require.NoError(t, c.Close())
}

// All of a notification is there when its third word is, however often one looks.
func TestNotificationsAreWhole(t *testing.T) {
	c, err := rdmaeng.AllocChannel(pinned(t, 64<<10), 0)
	require.NoError(t, err)
	for i := range int32(20000) {
		slot, w := c.Expose(nil)
		want := rdmaeng.Notification{i, -i, i & 1, 0}
		x := &rdmaeng.Transfer{Dst: w, Notify: want}
		c.Start(x)
		eventually(t, "notification", func() bool {
			_, got, ok := c.Notified()
			if ok {
				require.Equal(t, want, got)
			}
			return ok
		})
		require.NoError(t, finish(t, c, x))
		c.Withdraw(slot)
	}
	require.NoError(t, c.Close())
}

// More than there is room for: exposures fail aloud, writes wait for a descriptor and go on.
func TestPinnedMemoryIsFull(t *testing.T) {
	c, err := rdmaeng.AllocChannel(pinned(t, 256<<10), 0)
	require.NoError(t, err)
	full := func(n int) (e *rdmaeng.WindowError) {
		err := c.Room(n)
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, rdmaeng.ErrRoom)
		require.PanicsWithError(t, err.Error(), func() { c.Expose(make([]byte, n)) })
		return e
	}
	require.Equal(t, &rdmaeng.WindowError{Size: 1 << 20, Room: 192 << 10, Free: 192 << 10, Together: 192 << 10},
		full(1<<20))
	var slots []int
	var windows []rdmaeng.Window
	dst := make([][]byte, 5)
	for i := range dst {
		dst[i] = make([]byte, 32<<10)
		slot, w := c.Expose(dst[i])
		slots, windows = append(slots, slot), append(windows, w)
	}
	e := full(32 << 10)
	require.Equal(t, 28<<10, e.Free, "what the notification words left")
	require.NoError(t, c.Room(28<<10))

	// Each takes eight pieces, there are sixteen, and landing room is nearly gone.
	xs := make([]rdmaeng.Transfer, len(dst))
	for i := range xs {
		xs[i] = rdmaeng.Transfer{Src: pattern(32<<10, i), Dst: windows[i], Notify: rdmaeng.Notification{32 << 10, 0, 0,
			0}}
		c.Start(&xs[i])
	}
	for i := range xs {
		require.NoError(t, finish(t, c, &xs[i]))
	}
	for range xs {
		_, _, ok := c.Notified()
		require.True(t, ok)
	}
	for i, slot := range slots {
		require.Equal(t, xs[i].Src, dst[i])
		c.Withdraw(slot)
	}
	slot, _ := c.Expose(make([]byte, 150<<10))
	c.Withdraw(slot)
	require.NoError(t, c.Close())
}

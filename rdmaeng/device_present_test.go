package rdmaeng_test

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// faultless is the memory of this process for a device that takes no page faults: what is
// not there is refused.
type faultless struct{ pagemap *os.File }

func (f faultless) present(addr uint64, n int) bool {
	for page := addr / 4096; page <= (addr+uint64(n)-1)/4096; page++ {
		var entry [8]byte
		if _, err := f.pagemap.ReadAt(entry[:], int64(page*8)); err != nil ||
			binary.LittleEndian.Uint64(entry[:])>>63 == 0 {
			return false
		}
	}
	return true
}

func (f faultless) Read(_ int, owner, addr uint64, b []byte) uint64 {
	if !f.present(addr, len(b)) {
		return mmio.Fault
	}
	if n, err := sys.VMRead(int(owner), addr, b); err != nil || n != len(b) {
		return mmio.Fault
	}
	return mmio.OK
}

func (f faultless) Write(_ int, owner, addr uint64, b []byte) uint64 {
	if !f.present(addr, len(b)) {
		return mmio.Fault
	}
	if n, err := sys.VMWrite(int(owner), addr, b); err != nil || n != len(b) {
		return mmio.Fault
	}
	return mmio.OK
}

// Where the device takes no page faults, buffers that the program has never touched are
// there when it comes to them, and its context says where the tables are.
func TestPresent(t *testing.T) {
	pagemap, err := os.Open("/proc/self/pagemap")
	require.NoError(t, err)
	defer pagemap.Close()
	if _, err := sys.AddressPairs(1); err != nil {
		t.Skipf("physical addresses are for root: %v", err)
	}
	if err := sys.KeepPages(); err != nil {
		t.Skipf("this user may not lock memory (ulimit -l): %v", err)
	}
	defer func() { _ = unix.Munlockall() }()
	for _, flags := range []uint16{0, mmio.FlagPresent} {
		d, err := regs.New(regs.Config{Nodes: []regs.Node{
			{PDIDs: []uint32{1, 1}, Flags: flags, Memory: faultless{pagemap}}}})
		require.NoError(t, err)
		_, _, block := d.Blocks(0)
		var c [2]*rdmaeng.Device
		for i := range c {
			c[i], err = rdmaeng.AllocChannel(block, 1)
			require.NoError(t, err)
		}
		untouched := func() []byte {
			b, err := unix.Mmap(-1, 0, 20*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			require.NoError(t, err)
			t.Cleanup(func() { _ = unix.Munmap(b) })
			return b
		}
		_, w := c[1].Expose(untouched()[100:])
		x := &rdmaeng.Transfer{Src: untouched()[100:], Dst: w}
		c[0].Start(x)
		err = finish(t, c[0], x)
		if flags == 0 {
			require.ErrorIs(t, err, rdmaeng.ErrFault, "the test sees pages that are not there")
		} else {
			require.NoError(t, err)
		}
		for i := range c {
			page, err := mmio.Map(d.File(0), block.Offset+int64(i)*mmio.PageSize, mmio.PageSize)
			require.NoError(t, err)
			defer page.Close()
			if flags != 0 {
				require.EqualValues(t, os.Getpid(), page.Reg(mmio.CtxOwner).Load())
				require.EqualValues(t, 1, page.Reg(mmio.CtxCount).Load())
				require.NotZero(t, page.Reg(mmio.CtxPairs+8).Load())
			}
			require.NoError(t, c[i].Close())
			require.Zero(t, page.Reg(mmio.CtxOwner).Load(), "nobody goes by it any more")
		}
		require.NoError(t, d.Close())
	}
}

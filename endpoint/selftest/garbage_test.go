package selftest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// overwritten runs the checks on a device that works, after change has written to the registers of its blocks, of
// which the first is the directory.
func overwritten(t *testing.T, change func(registers func(block, offset int) mmio.Reg)) (all []Line, err error) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 3, PDIDs: []uint32{1, 1, 2}}}, Depth: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	f, err := mmio.Open(d.Path(0))
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	file, err := mmio.Map(f, 0, int(st.Size()))
	require.NoError(t, err)
	defer file.Close()
	blocks := []int{0}
	for _, reg := range []int{mmio.DirPacketizer, mmio.DirMailbox, mmio.DirChannel} {
		blocks = append(blocks, int(file.Reg(reg).Load()))
	}
	change(func(block, offset int) mmio.Reg { return file.Reg(blocks[block] + offset) })
	err = Run(d.Path(0), 20*time.Millisecond, func(l Line) { all = append(all, l) })
	return all, err
}

// Whatever the first registers of a block say, the check ends by itself.
func TestGarbage(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	random := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0, 1, 2, 7, 16, 0x1000, 0x3000, 1 << 16, 1<<32 + 1, 1 << 58, 1 << 63, ^uint64(0)}
	for round := range rounds {
		begun := time.Now()
		_, err := overwritten(t, func(registers func(block, offset int) mmio.Reg) {
			for range 1 + random.IntN(2) {
				block, offset, v := random.IntN(4), 8*random.IntN(12), values[random.IntN(len(values))]
				registers(block, offset).Store(v)
				t.Logf("round %d: %#x at %#x of block %d", round, v, offset, block)
			}
		})
		t.Log(err)
		require.Less(t, time.Since(begun), time.Minute)
	}
}

// A mailbox of more slots than an interface has room for is told of, and nobody looks into one.
func TestMailboxBeyondItsInterface(t *testing.T) {
	for _, units := range []uint64{64 + 1, 1 << 58, 1 << 63} {
		all, err := overwritten(t, func(registers func(block, offset int) mmio.Reg) {
			registers(2, mmio.RegStride).Store(2 * mmio.PageSize)
			registers(2, mmio.RegUnits).Store(units)
		})
		require.Error(t, err)
		for _, l := range all {
			switch l.Check {
			case "mailbox header":
				require.Equal(t, Failed, l.Result)
				require.Regexp(t, `^UNITS is \d+, but STRIDE is 0x2000`, l.Text)
			case "pages":
				require.Equal(t, NotTried, l.Result)
				require.Equal(t, `needs "mailbox header"`, l.Text)
			}
		}
	}
}

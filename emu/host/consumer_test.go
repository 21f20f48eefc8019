//go:build !race

package host

import (
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
)

// Who receives a message reads nothing in the line of its producer, which that writes with each message: it would
// be taken from it. Here the line is one that nobody may read. (With the race detector the compiler looks whether there
// is a head before each access.)
func TestAConsumerLeavesTheProducersLineAlone(t *testing.T) {
	f := attachAll(t, 2)[1]
	g, page := &f.job.geo, os.Getpagesize()
	m, err := unix.Mmap(-1, 0, page+g.ringSize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(m)) }()
	in := &inbox{ring: g.ringAt(unsafe.Pointer(&m[page-mem.CacheLine])), back: f.job.ringOf(1, 0), from: 0}
	f.ways[0], f.last = in, in
	for lap := range 2 * localCells {
		sizes := []int{0, 8, 200, 600, 2000}
		for _, n := range sizes {
			c, _ := in.room(g, n <= cellInline, n)
			require.NotNil(t, c)
			c.header = packetizer.Header{0, uint64(lap), uint64(n)}
			in.publish(g, c, 1<<32, n, false)
		}
		require.NoError(t, unix.Mprotect(m[:page], unix.PROT_NONE))
		require.NotPanics(t, func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			for _, n := range sizes {
				h, size := f.Look(0, 1)
				require.NotNil(t, h)
				require.Equal(t, n, size)
				b := f.Take(size)
				require.Equal(t, []uint64{uint64(lap), uint64(n)}, h[1:])
				require.Len(t, b, n)
				f.Release()
			}
		})
		require.NoError(t, unix.Mprotect(m[:page], unix.PROT_READ|unix.PROT_WRITE))
	}
}

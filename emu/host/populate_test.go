package host

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// present counts the pages of shared memory that there are.
func present(t *testing.T, b []byte) (n int) {
	pages := make([]byte, len(b)/pageSize)
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		uintptr(unsafe.Pointer(&pages[0])))
	require.Zero(t, e)
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

// The rings of two ranks have their memory before anybody touches them, those of many do not.
func TestRingsHaveTheirMemory(t *testing.T) {
	f, err := sys.SharedMemory("probe", pageSize)
	require.NoError(t, err)
	defer f.Close()
	probe, err := sys.Map(f)
	require.NoError(t, err)
	defer func() { _ = sys.Unmap(probe) }()
	if sys.Populate(probe); present(t, probe) == 0 {
		t.Skip("mincore sees no page after sys.Populate: MADV_POPULATE_READ does nothing here (before Linux 5.14, or " +
			"under qemu)")
	}
	for ranks, all := range map[int]bool{2: true, 3: true, 16: false} {
		j, err := NewJob(ranks)
		require.NoError(t, err)
		defer j.Close()
		j.populate(1)
		for i := range ranks {
			want := 0
			if all && i != 1 {
				want = j.ringStep / pageSize
			}
			require.Equal(t, want, present(t, j.ringBytes(1, i)), "from 1 to %d of %d", i, ranks)
			require.Equal(t, want, present(t, j.ringBytes(i, 1)), "from %d to 1 of %d", i, ranks)
		}
	}
}

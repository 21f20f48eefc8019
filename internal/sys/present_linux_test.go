//go:build linux && !portable

package sys

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Addresses that differ in the first level, with frames that only root is told.
func TestAddressPairs(t *testing.T) {
	pairs, err := AddressPairs(4)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("physical addresses are for root: %v", err)
	}
	require.NoError(t, err)
	seen := map[uint64]bool{}
	for _, p := range pairs {
		seen[p.Virtual>>39] = true
		got, err := physical(uintptr(p.Virtual))
		require.NoError(t, err)
		require.Equal(t, got, p.Physical)
		require.Zero(t, p.Physical%4096)
	}
	require.Len(t, seen, 4)
}

// fresh is memory that nobody has touched.
func fresh(size, flags int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|flags)
}

// What is populated for writing is there, and nothing beside it.
func TestPopulateWrite(t *testing.T) {
	b, err := fresh(4*os.Getpagesize(), 0)
	require.NoError(t, err)
	defer func() { _ = unix.Munmap(b) }()
	resident := func() (n int) {
		in := make([]byte, 4)
		_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			uintptr(unsafe.Pointer(&in[0])))
		require.Zero(t, e)
		for _, x := range in {
			n += int(x & 1)
		}
		return n
	}
	require.Zero(t, resident())
	PopulateWrite(b[os.Getpagesize()+5 : 2*os.Getpagesize()+5]) // parts of two pages
	require.Equal(t, 2, resident())
	PopulateWrite(nil)
}

const keepRole = "EXANET_TEST_KEEP"

// Locked pages are those that exist: this process would not fit otherwise. In a process of
// its own, since it lasts.
func TestKeepPages(t *testing.T) {
	if os.Getenv(keepRole) != "" {
		if KeepPages() != nil {
			os.Exit(3)
		}
		b, err := fresh(1<<36, unix.MAP_NORESERVE)
		if err != nil {
			os.Exit(4)
		}
		b[5000] = 1
		os.Exit(0)
	}
	c := exec.Command("/proc/self/exe", "-test.run", "^TestKeepPages$")
	c.Env = append(os.Environ(), keepRole+"=1")
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skip("this user may not lock memory (ulimit -l)")
	}
	require.NoError(t, err)
}

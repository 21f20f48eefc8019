package mmio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// deviceFile is a file of n zeroed pages.
func deviceFile(t *testing.T, n int) *os.File {
	fd, err := unix.MemfdCreate("mmio-test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd))
	require.NoError(t, f.Truncate(int64(n)*PageSize))
	t.Cleanup(func() { f.Close() })
	return f
}

func TestMap(t *testing.T) {
	f := deviceFile(t, 3)
	a, err := Map(f, PageSize, PageSize)
	require.NoError(t, err)
	b, err := Map(f, 0, 3*PageSize)
	require.NoError(t, err)
	a.Reg(0x18).Store(77)
	require.EqualValues(t, 77, b.Reg(PageSize+0x18).Load())
	require.EqualValues(t, 77, b.Sub(PageSize, PageSize).Words(0x10, 2)[1])
	require.False(t, a.Reg(0x18).CompareAndSwap(1, 2))
	require.True(t, b.Reg(PageSize+0x18).CompareAndSwap(77, 2))
	reader, err := NewReader(f.Name())
	require.NoError(t, err)
	v, err := reader.Load(PageSize + 0x18)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.EqualValues(t, 2, v)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestErrors(t *testing.T) {
	f := deviceFile(t, 1)
	none := filepath.Join(t.TempDir(), "exanet0")
	reader, err := NewReader(f.Name())
	require.NoError(t, err)
	defer reader.Close()
	attempts := []struct {
		name string
		want error
		do   func() error
	}{
		{"offset", ErrMisaligned, func() error { _, err := Map(f, 64, PageSize); return err }},
		{"beyond the end", ErrNoDevice, func() error { _, err := Map(f, PageSize, PageSize); return err }},
		{"no node", ErrNoDevice, func() error { _, err := Open(none); return err }},
		{"no physical memory", ErrNoDevice, func() error { _, err := NewReader(none); return err }},
		{"physical address", ErrMisaligned, func() error { _, err := reader.Load(4); return err }},
		{"physical beyond the end", ErrSmall, func() error { _, err := reader.Load(2 * PageSize); return err }},
		{"not a device", ErrNoDevice, func() error {
			_,
				err := Claim(Block{Path: f.Name()}, KindMailbox, 0)
			return err
		}},
	}
	for _, a := range attempts {
		err := a.do()
		require.ErrorIs(t, err, a.want, a.name)
		var e *Error
		require.True(t, errors.As(err, &e), a.name)
		require.NotEmpty(t, e.Do, a.name)
	}
	_, err = Open(none)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, none)
}

// With a driver, the page is the one that the node was opened for, and OWNER
// was written by the driver.
func TestClaimWithDriver(t *testing.T) {
	f := deviceFile(t, 2)
	r, err := Map(f, 0, PageSize)
	require.NoError(t, err)
	defer r.Close()
	r.Reg(RegID).Store(ID(KindChannel, 0))
	r.Reg(RegPDID).Store(12)
	r.Reg(RegIndex).Store(5)
	r.Reg(RegStride).Store(PageSize)
	b := Block{Path: f.Name()}

	r.Reg(RegOwner).Store(uint64(os.Getppid()))
	_, err = Claim(b, KindChannel, 12)
	require.ErrorIs(t, err, ErrBusy)

	r.Reg(RegOwner).Store(uint64(os.Getpid()))
	_, err = Claim(b, KindChannel, 13)
	require.ErrorIs(t, err, ErrProtection)
	p, err := Claim(b, KindChannel, 12)
	require.NoError(t, err)
	require.False(t, p.Claimed)
	require.Equal(t, 5, p.Index)
	require.NoError(t, p.Release())
	require.EqualValues(t, os.Getpid(), r.Reg(RegOwner).Load(), "OWNER is the driver's")

	r.Reg(RegStride).Store(100)
	_, err = Claim(b, KindChannel, 12)
	require.ErrorIs(t, err, ErrMisaligned)
	r.Reg(RegID).Store(ID(KindChannel, 0) + 1)
	_, err = Claim(b, KindChannel, 12)
	require.ErrorIs(t, err, ErrNoDevice, "another version")
}

func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node, pdid, index := rapid.Uint16().Draw(t, "node"), rapid.Uint32().Draw(t, "pdid"),
			rapid.Uint16().Draw(t, "index")
		n, p, i := SplitMailboxAddress(MailboxAddress(node, pdid, index))
		require.Equal(t, []any{node, pdid, index}, []any{n, p, i})

		local := rapid.Uint64Range(0, 1<<ChannelShift-1).Draw(t, "local")
		n8, i8, l := SplitExanet(local + ChannelOffset(uint8(node), uint8(index)))
		require.Equal(t, []any{uint8(node), uint8(index), local}, []any{n8, i8, l})
	})
}

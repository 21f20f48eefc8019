package endpoint

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
)

// image is what the registers of a node of the model look like.
func image(t *testing.T) []byte {
	t.Helper()
	f, err := os.Open(device(t, 2).Path(0))
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}

func write(t *testing.T, b []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "registers")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// changed is an image with another value in a register of a block, 0 being the directory.
func changed(b []byte, block int, reg int, value uint64) []byte {
	at := reg
	if block > 0 {
		at += int(binary.NativeEndian.Uint64(b[block:]))
	}
	b = bytes.Clone(b)
	binary.NativeEndian.PutUint64(b[at:], value)
	return b
}

// What is wrong with a path has an error of its own, in one line that says what to do.
func TestLocateErrors(t *testing.T) {
	good := image(t)
	_, err := Locate(write(t, good))
	require.NoError(t, err)
	version := mmio.ID(mmio.KindDirectory, mmio.FlagClaim) + 1
	pinned := mmio.ID(mmio.KindChannel, mmio.FlagClaim|mmio.FlagWindow)
	for _, c := range []struct {
		name, path string
		want       error
		says       string
	}{
		{"none", filepath.Join(t.TempDir(), "exanet0"), ErrNotThere, "driver"},
		{"a folder", t.TempDir(), ErrKind, "name the file in it"},
		{"nothing to map", "/dev/null", ErrKind, "can be mapped"},
		{"no address", "/dev/mem", ErrNotThere, "@0x"},
		{"an odd address", write(t, good) + "@0x123", packetizer.ErrMisaligned, "0x1000"},
		{"another's memory", write(t, make([]byte, len(good))), ErrKind, "check the path"},
		{"off", write(t, bytes.Repeat([]byte{0xff}, len(good))), ErrKind, "switch the device on"},
		{"another version", write(t, changed(good, 0, mmio.RegID, version)), ErrVersion, "version 1"},
		{"another block", write(t, changed(good, mmio.DirMailbox, mmio.RegID, mmio.ID(mmio.KindChannel, 0))), ErrKind,
			"check the path"},
		{"another block's version", write(t, changed(good, mmio.DirChannel, mmio.RegID,
			mmio.ID(mmio.KindChannel, mmio.FlagClaim)+1)), ErrVersion, "version 1"},
		{"another node", write(t, changed(good, mmio.DirMailbox, mmio.RegNode, 9)), ErrNode, "node 9"},
		{"too small", write(t, good[:100]), ErrSmall, "file ends"},
		{"too small for the blocks", write(t, good[:2*mmio.PageSize]), ErrSmall, "file ends"},
		{"too small for the last page", write(t, good[:len(good)-mmio.PageSize]), ErrSmall, "2 interfaces"},
		{"further on", write(t, good) + "@0x1000", ErrKind, "check the path"},
		{"a word for an address", write(t, good) + "@zzz", ErrAddress, `"zzz" is behind the @); give one in hex`},
		{"a word in hex", write(t, good) + "@0xzz", ErrAddress, "as /dev/mem@0xa0000000"},
		{"no digits", write(t, good) + "@0x", ErrAddress, `"0x" is behind the @`},
		{"nothing for an address", "/dev/mem@", ErrAddress, `"" is behind the @`},
		{"a decimal address", write(t, good) + "@4096", ErrAddress, `"4096" is behind the @`},
		{"a negative address", write(t, good) + "@-0x1000", ErrAddress, `"-0x1000" is behind the @`},
		{"a huge address", write(t, good) + "@0xfffffffffffff000", ErrAddress, "give one in hex"},
		{"beyond the end", write(t, good) + "@0x7ffffffffffff000", ErrSmall, "file ends"},
		{"an @ in a folder's name", "/none@0x1000/exanet0", ErrNotThere, "check the path"},
		{"no interfaces", write(t, changed(good, mmio.DirMailbox, mmio.RegCount, 0)), packetizer.ErrNoDevice,
			"COUNT is 0"},
		{"too many interfaces", write(t, changed(good, mmio.DirPacketizer, mmio.RegCount, 1<<62)),
			packetizer.ErrNoDevice, "1 to 65536 interfaces"},
		{"interfaces of no pages", write(t, changed(good, mmio.DirChannel, mmio.RegStride, 0x123)),
			packetizer.ErrMisaligned, "STRIDE is 0x123"},
		{"interfaces of no size", write(t, changed(good, mmio.DirChannel, mmio.RegStride, 0)),
			packetizer.ErrMisaligned, "STRIDE is 0x0"},
		{"mailboxes without slots", write(t, changed(good, mmio.DirMailbox, mmio.RegUnits, 0)), packetizer.ErrNoDevice,
			"UNITS is 0"},
		{"slots beyond a mailbox", write(t, changed(good, mmio.DirMailbox, mmio.RegUnits, 1<<58)),
			packetizer.ErrNoDevice, "slots of 64 bytes"},
		{"no pinned memory", write(t, changed(good, mmio.DirChannel, mmio.RegID, pinned)), packetizer.ErrNoDevice,
			"WINSIZE is 0x0"},
		{"another header in the second interface", write(t, changed(good, mmio.DirPacketizer,
			mmio.PageSize+mmio.RegCount, 3)), packetizer.ErrNoDevice, "is not that of the first one"},
	} {
		_, err := Locate(c.path)
		require.ErrorIs(t, err, c.want, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		path, _, _ := strings.Cut(c.path, "@")
		require.ErrorContains(t, err, path, c.name)
		text := strings.ReplaceAll(err.Error(), "/dev/mem@0x", "")
		require.Equal(t, 1, strings.Count(text, path), "%s: %v", c.name, err)
		require.NotContains(t, err.Error(), "\n", c.name)
		for _, other := range []error{ErrNotThere, ErrAddress, ErrPermission, ErrSmall, ErrKind, ErrVersion, ErrNode} {
			if other != c.want {
				require.NotErrorIs(t, err, other, c.name)
			}
		}
	}
}

func TestLocateMayNot(t *testing.T) {
	path := write(t, image(t))
	require.NoError(t, os.Chmod(path, 0))
	if os.Geteuid() == 0 { // who may everything, but for a thread that takes itself for somebody else
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		require.NoError(t, unix.Setfsuid(65534))
		defer func() { _ = unix.Setfsuid(0) }()
	}
	_, err := Locate(path)
	require.ErrorIs(t, err, ErrPermission)
	require.ErrorContains(t, err, "give this user")
}

// An @ may be in a file's name.
func TestLocateAFileWithAnAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registers@home")
	require.NoError(t, os.WriteFile(path, image(t), 0o600))
	_, err := Locate(path)
	require.NoError(t, err)
}

// Registers may begin anywhere in a file.
func TestLocateFurtherOn(t *testing.T) {
	blocks, err := Locate(write(t, append(make([]byte, 3*mmio.PageSize), image(t)...)) + "@0x3000")
	require.NoError(t, err)
	e, err := Attach(blocks, 0)
	require.NoError(t, err)
	require.NoError(t, e.Join(0, []Entry{e.Entry()}))
	require.EqualValues(t, 1, e.Node(0))
	require.NoError(t, e.Close())
}

// Devices are found where the kernel names them, if there is one that can be used.
func TestFind(t *testing.T) {
	sys, dev := t.TempDir(), t.TempDir()
	find := func() (string, error) { return only(list(sys, dev)) }
	name := func(dir string, files map[string]string) {
		require.NoError(t, os.MkdirAll(filepath.Join(sys, dir), 0o700))
		for file, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(sys, dir, file), []byte(text+"\n"), 0o600))
		}
	}
	good := image(t)
	place := func(path string, b []byte) { require.NoError(t, os.WriteFile(path, b, 0o600)) }

	_, err := find()
	require.ErrorIs(t, err, ErrNotThere)
	require.ErrorContains(t, err, "registers:PATH")
	name("class/uio/uio0", map[string]string{"name": "something"})
	place(filepath.Join(dev, "uio0"), good)
	name("bus/pci/devices/0000:00:01.0", map[string]string{"vendor": "0x1af4", "device": "0x1000"})
	place(filepath.Join(sys, "bus/pci/devices/0000:00:01.0/resource2"), good)
	_, err = find()
	require.ErrorIs(t, err, ErrNotThere, "they are others")

	name("bus/pci/devices/0000:00:02.0", map[string]string{"vendor": "0x1af4", "device": "0x1110"})
	pci := filepath.Join(sys, "bus/pci/devices/0000:00:02.0/resource2")
	place(pci, make([]byte, len(good)))
	_, err = find()
	require.ErrorIs(t, err, ErrKind, "memory of somebody else")
	require.ErrorContains(t, err, pci)
	require.NotContains(t, err.Error(), "\n")
	place(pci, good)
	path, err := find()
	require.NoError(t, err)
	require.Equal(t, pci, path)

	require.NoError(t, os.Remove(pci))
	node := filepath.Join(dev, "exanet0")
	place(node, good)
	path, err = find()
	require.NoError(t, err)
	require.Equal(t, node, path)
	require.NoError(t, os.Remove(node))
	place(pci, good)

	name("class/uio/uio1", map[string]string{"name": "exanet"})
	place(filepath.Join(dev, "uio1"), good)
	_, err = find()
	require.ErrorIs(t, err, ErrSeveral)
	require.ErrorContains(t, err, filepath.Join(dev, "uio1")+", "+pci)
}

// Two nodes with one ID cannot be told apart.
func TestJoinTwins(t *testing.T) {
	a, err := Locate(device(t, 1).Path(0))
	require.NoError(t, err)
	b, err := Locate(device(t, 1).Path(0))
	require.NoError(t, err)
	x, err := Attach(a, 0)
	require.NoError(t, err)
	defer x.Close()
	y, err := Attach(b, 0)
	require.NoError(t, err)
	defer y.Close()
	err = x.Join(0, []Entry{x.Entry(), y.Entry()})
	require.ErrorIs(t, err, ErrNode)
	require.ErrorContains(t, err, "ranks 0 and 1 both have mailbox 0 of node 1")
}

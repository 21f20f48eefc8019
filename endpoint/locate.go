package endpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
)

// What Locate reports, for errors.Is. Each is a packetizer.ErrNoDevice.
var (
	ErrNotThere   = mmio.ErrNotThere
	ErrAddress    = mmio.ErrAddress
	ErrPermission = mmio.ErrPermission
	ErrSmall      = mmio.ErrSmall
	ErrKind       = mmio.ErrKind
	ErrVersion    = mmio.ErrVersion
	ErrNode       = mmio.ErrNode
)

// physical is the memory of the machine by its addresses: a path that needs one.
const physical = "/dev/mem"

// Place splits PATH@0xADDRESS, or a path whose registers begin at its start. What is behind the last @ of a file's name
// is an address, unless there is a file of the whole name.
func Place(text string) (path string, offset int64, err error) {
	wrong := func(err, cause error, do string) (string, int64, error) {
		return "", 0, &packetizer.Error{Op: "open", Path: text, Page: -1, Err: err, Cause: cause, Do: do}
	}
	const as = "as " + physical + "@0xa0000000"
	if text == physical {
		return wrong(ErrNotThere, nil, "say at what address the registers are, "+as)
	}
	at := strings.LastIndexByte(text, '@')
	if at <= strings.LastIndexByte(text, '/') {
		return text, 0, nil
	}
	address := text[at+1:]
	digits, hex := strings.CutPrefix(address, "0x")
	if _, err := os.Lstat(text); !hex && err == nil {
		return text, 0, nil
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	switch {
	case !hex || err != nil:
		return wrong(ErrAddress, fmt.Errorf("%q is behind the @", address), "give one in hexadecimal digits, "+as)
	case n%mmio.PageSize != 0:
		return wrong(packetizer.ErrMisaligned, nil, "give an address in the file that is a multiple of 0x1000, "+as)
	}
	return text[:at], int64(n), nil
}

// Locate finds the blocks of a device: text is the path of a device node of a driver, of a UIO node, of a PCI resource
// or of the register file of a software device, with @0xADDRESS behind it where the registers begin further on, as in
// /dev/mem@0xa0000000. It checks what the registers say of themselves: kind, version, size and node.
func Locate(text string) (Blocks, error) {
	dir, err := openDirectory(text)
	if err != nil {
		return Blocks{}, err
	}
	defer dir.close()
	return dir.blocks()
}

// checkBlock checks the headers of a block of a node.
func checkBlock(f *os.File, b packetizer.Block, kind uint32, node uint64) error {
	first, err := header(f, b, kind)
	if err != nil {
		return err
	}
	if n := first.Node; n != node {
		return &packetizer.Error{Op: "open", Path: b.Path, Page: -1, Err: ErrNode,
			Cause: fmt.Errorf("the block at %#x says node %d, the registers at the start node %d", b.Offset, n, node),
			Do:    "give all blocks of a node its ID"}
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && uint64(st.Size()-b.Offset)/first.Stride < first.Count {
		return &packetizer.Error{Op: "open", Path: b.Path, Page: -1, Err: ErrSmall,
			Cause: fmt.Errorf("%d interfaces of %#x bytes from %#x, but the file ends at %#x", first.Count,
				first.Stride, b.Offset, st.Size()),
			Do: "check the path and the size of the file"}
	}
	if !first.Claims() {
		return nil // the driver shows the header of one interface
	}
	for range first.Count - 1 {
		b.Offset += int64(first.Stride)
		h, err := header(f, b, kind)
		if err == nil {
			err = first.Differs(b, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header is that of the interface at b.
func header(f *os.File, b packetizer.Block, kind uint32) (mmio.Header, error) {
	r, err := mmio.Map(f, b.Offset, mmio.PageSize)
	if err != nil {
		return mmio.Header{}, err
	}
	defer r.Close()
	return mmio.ReadHeader(b, r, kind)
}

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
	ErrPermission = mmio.ErrPermission
	ErrSmall      = mmio.ErrSmall
	ErrKind       = mmio.ErrKind
	ErrVersion    = mmio.ErrVersion
	ErrNode       = mmio.ErrNode
)

// physical is the memory of the machine by its addresses: a path that needs one.
const physical = "/dev/mem"

// Place splits PATH@0xADDRESS, or a path whose registers begin at its start.
func Place(text string) (path string, offset int64, err error) {
	path = text
	if at := strings.LastIndex(text, "@0x"); at >= 0 {
		if offset, err = strconv.ParseInt(text[at+1:], 0, 64); err != nil || offset%mmio.PageSize != 0 {
			return "", 0, &packetizer.Error{Op: "open", Path: text, Page: -1, Err: packetizer.ErrMisaligned,
				Do: "give an address in the file that is a multiple of 0x1000, as " + physical + "@0xa0000000"}
		}
		path = text[:at]
	}
	if path == physical && path == text {
		return "", 0, &packetizer.Error{Op: "open", Path: text, Page: -1, Err: ErrNotThere,
			Do: "say at what address the registers are, as " + physical + "@0xa0000000"}
	}
	return path, offset, nil
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

// checkBlock checks the head of a block of a node.
func checkBlock(f *os.File, b packetizer.Block, kind uint32, node uint64) error {
	head, err := mmio.Map(f, b.Offset, mmio.PageSize)
	if err != nil {
		return err
	}
	defer head.Close()
	if err := mmio.CheckID(b, head.Reg(mmio.RegID).Load(), kind); err != nil {
		return err
	}
	if n := head.Reg(mmio.RegNode).Load(); n != node {
		return &packetizer.Error{Op: "open", Path: b.Path, Page: -1, Err: ErrNode,
			Cause: fmt.Errorf("the block at %#x says node %d, the registers at the start node %d", b.Offset, n, node),
			Do:    "give all blocks of a node its ID"}
	}
	count, stride := head.Reg(mmio.RegCount).Load(), head.Reg(mmio.RegStride).Load()
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && uint64(st.Size()-b.Offset)/max(stride, 1) < count {
		return &packetizer.Error{Op: "open", Path: b.Path, Page: -1, Err: ErrSmall,
			Cause: fmt.Errorf("%d interfaces of %#x bytes from %#x, but the file ends at %#x", count, stride, b.Offset,
				st.Size()),
			Do: "check the path and the size of the file"}
	}
	return nil
}

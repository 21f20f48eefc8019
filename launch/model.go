package launch

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/emu/regs"
)

// newDevice runs the software device, of nodes with so many interfaces each, all of one protection ID.
func newDevice(interfaces []int) (*regs.Device, error) {
	cfg, pdid := regs.Config{}, newPDID()
	for i, n := range interfaces {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: uint8(i), PDIDs: slices.Repeat([]uint32{pdid}, n)})
	}
	return regs.New(cfg)
}

// newPDID draws the protection ID of a job, as a driver gives one to each
// process group (thesis 2.2). It is not 0, which asks for any.
func newPDID() uint32 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if id := binary.NativeEndian.Uint32(b[:]); id != 0 {
			return id
		}
	}
}

// unknownRanks is how many ranks a node has room for if nobody says how many there will be.
const unknownRanks = 64

// NewModel runs the software device for so many ranks that another launcher starts, 0 if that is not known, and returns
// it with the value of EXANET_DEVICE for all of them. They are on nodes as those of a Job are.
func NewModel(nodes, ranks int) (d *regs.Device, value string, err error) {
	if nodes < 1 || nodes > regs.MostNodes {
		return nil, "", fmt.Errorf("%d nodes: want 1 to %d, for which there are IDs", nodes, regs.MostNodes)
	}
	each := unknownRanks
	if ranks > 0 {
		each = (ranks + nodes - 1) / nodes
	}
	if d, err = newDevice(slices.Repeat([]int{each}, nodes)); err != nil {
		return nil, "", err
	}
	paths := make([]string, nodes)
	for i := range paths {
		paths[i] = d.Path(i)
	}
	return d, registersDevice + ":" + strings.Join(paths, ","), nil
}

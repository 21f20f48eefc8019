package regs

import (
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// flags of the ID registers of all nodes.
const flags = mmio.FlagClaim | mmio.FlagAgent

// node is the hardware of a node.
type node struct {
	id     uint8
	file   *os.File
	given  bool // the file is not ours
	mem    mmio.Region
	lay    layout
	local  bool // its processes are those of this machine
	memory Memory
	flags  uint16

	senders   []sender
	mailboxes []mailbox
	channels  []channel
}

// layout has the offsets of the blocks in the file and their strides.
type layout struct {
	packetizer, mailbox, channel int64
	mailboxStride                int
	windows                      windowLayout
	size                         int64
}

func layoutOf(interfaces, depth, ranks int) (l layout) {
	pages := func(bytes int) int64 { return int64((bytes + mmio.PageSize - 1) &^ (mmio.PageSize - 1)) }
	n := int64(interfaces)
	l.mailboxStride = int(pages(mmio.SlotBase + depth*mmio.MessageSize))
	l.packetizer = pages(mmio.DirBase + ranks*mmio.DirSize)
	l.mailbox = l.packetizer + n*mmio.PageSize
	l.channel = l.mailbox + n*int64(l.mailboxStride)
	l.size = l.channel + n*mmio.PageSize
	return l
}

// newNode maps the registers of a node of cfg and writes those that do not
// change.
func newNode(c Node, cfg Config, i int) (_ *node, err error) {
	lay := cfg.layout(i)
	n := &node{id: c.ID, file: c.File, given: c.File != nil, lay: lay, local: c.Memory == nil, memory: c.Memory,
		flags: flags | c.Flags}
	if n.local {
		n.memory = processes{}
	}
	if !n.given {
		// Sealed, so that no process can pull pages away from under the others.
		fd, err := sys.SealedMemory("exanet-device", lay.size)
		if err != nil {
			return nil, err
		}
		n.file = os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	}
	if n.mem, err = mmio.Map(n.file, 0, int(lay.size)); err != nil {
		if !n.given {
			_ = n.file.Close()
		}
		return nil, fmt.Errorf("registers of %d bytes: %w", lay.size, err)
	}
	if c.Window > 0 {
		n.memory = n.windows()
	}
	dir := n.mem.Sub(0, mmio.PageSize)
	dir.Reg(mmio.RegNode).Store(uint64(n.id))
	dir.Reg(mmio.RegCount).Store(uint64(cfg.interfaces()))
	dir.Reg(mmio.DirPacketizer).Store(uint64(lay.packetizer))
	dir.Reg(mmio.DirMailbox).Store(uint64(lay.mailbox))
	dir.Reg(mmio.DirChannel).Store(uint64(lay.channel))
	for i, pdid := range c.PDIDs {
		n.senders = append(n.senders, newSender(n.page(mmio.KindPacketizer, i, c.PDIDs, mmio.Windows), pdid))
		n.mailboxes = append(n.mailboxes, mailbox{page: n.page(mmio.KindMailbox, i, c.PDIDs, cfg.Depth), pdid: pdid})
		n.channels = append(n.channels, channel{page: n.page(mmio.KindChannel, i, c.PDIDs, mmio.Descriptors),
			pdid: pdid, node: n})
	}
	if cfg.Fault == WrongNode {
		for _, b := range n.mailboxes {
			b.page.Reg(mmio.RegNode).Store(uint64(n.id) ^ 1)
		}
	}
	dir.Reg(mmio.RegID).Store(mmio.ID(mmio.KindDirectory, n.flags))
	return n, nil
}

// page writes the header of interface i of a block.
func (n *node) page(kind uint32, i int, pdids []uint32, units int) mmio.Region {
	at, stride := n.lay.packetizer, mmio.PageSize
	switch kind {
	case mmio.KindMailbox:
		at, stride = n.lay.mailbox, n.lay.mailboxStride
	case mmio.KindChannel:
		at = n.lay.channel
	}
	p := n.mem.Sub(int(at)+i*stride, stride)
	p.Reg(mmio.RegNode).Store(uint64(n.id))
	p.Reg(mmio.RegPDID).Store(uint64(pdids[i]))
	p.Reg(mmio.RegIndex).Store(uint64(i))
	p.Reg(mmio.RegCount).Store(uint64(len(pdids)))
	p.Reg(mmio.RegStride).Store(uint64(stride))
	p.Reg(mmio.RegUnits).Store(uint64(units))
	if kind == mmio.KindChannel {
		p.Reg(mmio.RegOffset).Store(mmio.ChannelOffset(n.id, uint8(i)))
		n.lay.windows.fill(p, i, int64(i*stride)+at)
	}
	p.Reg(mmio.RegID).Store(mmio.ID(kind, n.flags|n.lay.windows.flags()))
	return p
}

func (n *node) close() error {
	err := n.mem.Close()
	if n.given {
		return err
	}
	if e := n.file.Close(); err == nil {
		err = e
	}
	return err
}

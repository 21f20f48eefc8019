package selftest

import (
	"errors"
	"fmt"
	"math"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// The three blocks, as indices.
const (
	packetizers = iota
	mailboxes
	channels
	blockCount
)

// block is an array of interfaces.
type block struct {
	mmio.Block
	name  string
	kind  uint32
	units string // what UNITS counts
	count int    // of them, 0: any number

	head  head     // of the first interface
	pdids []uint32 // of all interfaces; where there is a driver, of the one that it maps
}

// head is what the header of an interface says.
type head struct {
	id, node, pdid, index, count, stride, units, offset uint64
}

func (h head) flag(f uint16) bool { return uint16(h.id>>16)&f != 0 }

// claims reports whether processes take pages by themselves.
func (h head) claims() bool { return h.flag(mmio.FlagClaim) }

// locate finds the blocks of the device at path, whose registers begin at an offset.
func (b *bench) locate(path string, base int64) error {
	id, err := b.reader.Load(base + mmio.RegID)
	if err != nil {
		return err
	}
	if err := mmio.CheckID(mmio.Block{Path: path, Offset: base}, id, mmio.KindDirectory); err != nil {
		return err
	}
	b.blocks = [blockCount]block{
		{name: "packetizer", kind: mmio.KindPacketizer, units: "windows", count: mmio.Windows},
		{name: "mailbox", kind: mmio.KindMailbox, units: "slots"},
		{name: "RDMA channel", kind: mmio.KindChannel, units: "descriptors", count: mmio.Descriptors},
	}
	for i, reg := range []int64{mmio.DirPacketizer, mmio.DirMailbox, mmio.DirChannel} {
		at, err := b.reader.Load(base + reg)
		if err != nil {
			return err
		}
		b.blocks[i].Block = mmio.Block{Path: path, Offset: base + int64(at)}
	}
	return nil
}

// Describe says in a few words what the device at path is.
func Describe(path string) (string, error) {
	b, err := newBench(path, Limit)
	if err != nil {
		return "", err
	}
	defer b.close()
	for which := range blockCount {
		if _, err := b.header(which); err != nil {
			return "", err
		}
	}
	h := b.blocks[mailboxes].head
	text := fmt.Sprintf("node %d, %s", h.node, count(int(h.count), "interface"))
	if h.claims() {
		text += fmt.Sprintf(", %d of them free", b.free())
	}
	if c := b.blocks[channels].head; c.flag(mmio.FlagWindow) {
		text += ", pinned memory"
		if c.flag(mmio.FlagMaintain) {
			text += " that is not coherent"
		}
	}
	return text, nil
}

// free is how many mailboxes nobody holds.
func (b *bench) free() (n int) {
	k := &b.blocks[mailboxes]
	for i := range int(k.head.count) {
		owner, err := b.reader.Load(k.page(i) + mmio.RegOwner)
		if err == nil && owner == 0 {
			n++
		}
	}
	return n
}

// page is where interface i is.
func (k *block) page(i int) int64 { return k.Offset + int64(i)*int64(k.head.stride) }

// header checks the headers of a block, as far as they can be seen.
func (b *bench) header(which int) (string, error) {
	k := &b.blocks[which]
	first, err := b.read(k, 0, mmio.PageSize)
	if err != nil {
		return "", err
	}
	k.head = first
	if err := k.sane(first); err != nil {
		return "", err
	}
	k.pdids = []uint32{uint32(first.pdid)}
	if first.claims() {
		k.pdids = nil
		for i := range int(first.count) {
			h, err := b.read(k, i, int64(first.stride))
			if err != nil {
				return "", err
			}
			if err := k.alike(i, h); err != nil {
				return "", err
			}
			k.pdids = append(k.pdids, uint32(h.pdid))
		}
	}
	return fmt.Sprintf("version %d, node %d, %s, each with %d %s", mmio.Version, first.node,
		count(int(first.count), "interface"), first.units, k.units), nil
}

// read reads the header of interface i, and finds out that the last register of
// the page is there.
func (b *bench) read(k *block, i int, size int64) (h head, err error) {
	at := k.page(i)
	for reg, to := range map[int64]*uint64{mmio.RegID: &h.id, mmio.RegNode: &h.node, mmio.RegPDID: &h.pdid,
		mmio.RegIndex: &h.index, mmio.RegCount: &h.count, mmio.RegStride: &h.stride, mmio.RegUnits: &h.units,
		mmio.RegOffset: &h.offset} {
		if *to, err = b.reader.Load(at + reg); err != nil {
			return h, err
		}
	}
	_, err = b.reader.Load(at + size - 8)
	return h, err
}

// sane checks the first header of a block.
func (k *block) sane(h head) error {
	switch {
	case uint32(h.id>>32) != k.kind:
		return fmt.Errorf("ID is %#x at offset %#x of the device, but the upper half of a %s's is %#x: the block is "+
			"not there, or the processor reads another byte order", h.id, k.Offset, k.name, k.kind)
	case uint16(h.id) != mmio.Version:
		return fmt.Errorf("ID is %#x: the register map has version %d, these programs know version %d", h.id,
			uint16(h.id), mmio.Version)
	case h.node > 0xffff:
		return fmt.Errorf("NODE is %#x: a node ID has 16 bits", h.node)
	case h.pdid > 0xffffffff:
		return fmt.Errorf("PDID is %#x: a protection ID has 32 bits", h.pdid)
	case h.count == 0 || h.count > 1<<16 || k.kind == mmio.KindChannel && h.count > 1<<8:
		return fmt.Errorf("COUNT is %d: a block has 1 to 65536 interfaces, RDMA channels 256 at most", h.count)
	case h.index >= h.count:
		return fmt.Errorf("INDEX is %d, but COUNT is %d: interfaces are counted from 0", h.index, h.count)
	case h.units == 0 || k.count != 0 && h.units != uint64(k.count):
		return fmt.Errorf("UNITS is %d: want the number of %s%s", h.units, k.units, exactly(k.count))
	case h.stride%mmio.PageSize != 0 || h.stride == 0 || h.stride > math.MaxInt32:
		return fmt.Errorf("STRIDE is %#x: want a multiple of %d, as an interface takes whole pages", h.stride,
			mmio.PageSize)
	case k.kind == mmio.KindMailbox && h.units > (h.stride-mmio.SlotBase)/mmio.MessageSize: // STRIDE is a page at least
		return fmt.Errorf("UNITS is %d, but STRIDE is %#x: an interface has registers of %#x bytes, and then slots of "+
			"%d", h.units, h.stride, mmio.SlotBase, mmio.MessageSize)
	}
	return k.offset(h)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func exactly(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", which is %d", n)
}

// offset checks the DMA offset of a channel.
func (k *block) offset(h head) error {
	if k.kind != mmio.KindChannel {
		return nil
	}
	if h.node > 0xff {
		return fmt.Errorf("NODE is %d: with RDMA channels a node ID has 8 bits, since OFFSET has no room for more",
			h.node)
	}
	if want := mmio.ChannelOffset(uint8(h.node), uint8(h.index)); h.offset != want {
		return fmt.Errorf("OFFSET of channel %d is %#x, want %#x: NODE %d in bits 63-56, INDEX %d in bits 55-48",
			h.index, h.offset, want, h.node, h.index)
	}
	return nil
}

// alike checks the header of interface i against the first one.
func (k *block) alike(i int, h head) error {
	differs := func(name string, is, want uint64) error {
		return fmt.Errorf("interface %d has %s %#x, want %#x as the interfaces before it lead to expect", i, name, is,
			want)
	}
	switch f := k.head; {
	case h.id != f.id:
		return differs("ID", h.id, f.id)
	case h.node != f.node:
		return differs("NODE", h.node, f.node)
	case h.index != uint64(i):
		return differs("INDEX", h.index, uint64(i))
	case h.count != f.count:
		return differs("COUNT", h.count, f.count)
	case h.stride != f.stride:
		return differs("STRIDE", h.stride, f.stride)
	case h.units != f.units:
		return differs("UNITS", h.units, f.units)
	}
	return k.offset(h)
}

// nodeIDs checks that all blocks are of one node.
func (b *bench) nodeIDs() (string, error) {
	p, m, c := b.blocks[packetizers].head.node, b.blocks[mailboxes].head.node, b.blocks[channels].head.node
	if p != m || m != c {
		return "", fmt.Errorf("NODE is %d in the packetizers, %d in the mailboxes and %d in the RDMA channels: the "+
			"blocks of a board have one node ID, or what is sent to one of them goes elsewhere", p, m, c)
	}
	return fmt.Sprintf("%d in all blocks", p), nil
}

// takePages takes one interface of each block, a second one if there is one,
// and one of another protection group if there is one.
func (b *bench) takePages() (string, error) {
	own, err := b.take(0)
	if err != nil {
		return "", err
	}
	b.own = own
	for _, p := range own.pages() {
		if b.claims() && p.Reg(mmio.RegOwner).Load() != b.pid {
			return "", fmt.Errorf("OWNER of interface %d does not keep what was stored there", p.Index)
		}
	}
	if b.other, err = b.take(own.box.PDID); err != nil && !none(err) {
		return "", fmt.Errorf("the second interface: %w", err)
	}
	for _, pdid := range b.blocks[mailboxes].pdids {
		if pdid == own.box.PDID {
			continue
		}
		if b.foreign, err = b.take(pdid); err == nil {
			break
		} else if !none(err) {
			return "", fmt.Errorf("an interface with protection ID %d: %w", pdid, err)
		}
	}
	seen := fmt.Sprintf("mailbox %d, packetizer page %d and channel %d", own.box.Index, own.port.Index,
		own.channel.Index)
	if b.other == nil {
		seen += "; no second set is free, so what needs two ends is not tried"
	}
	return seen, nil
}

// none reports whether err says that there are no free pages of that kind.
func none(err error) bool {
	return errors.Is(err, mmio.ErrExhausted) || errors.Is(err, mmio.ErrProtection)
}

// protectionIDs checks that the pages of a process are of one group.
func (b *bench) protectionIDs() (string, error) {
	p, m, c := b.own.port.PDID, b.own.box.PDID, b.own.channel.PDID
	if p != m || m != c {
		return "", fmt.Errorf("PDID is %d in the packetizer page, %d in the mailbox and %d in the channel that this "+
			"process was given: they are of one process and so of one group", p, m, c)
	}
	if p == 0 {
		return "", errors.New("PDID is 0: the driver has not set it")
	}
	return fmt.Sprintf("%d in the three pages of this process", p), nil
}

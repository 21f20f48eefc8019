// Package regs is the prototype's hardware in software, register for register
// (docs/registers.md): the same pages, the same counters, the same order of
// writes. The wrappers packetizer.Device, mbox.Device and rdmaeng.Device
// cannot tell it from the real blocks, so what runs here exercises the code
// that runs there.
//
//	regs.go       the memory file and its pages
//	packets.go    the packetizers and mailboxes: one goroutine
//	rdma.go       the RDMA engine: one goroutine
//	owners.go     frees the pages of processes that have ended: one goroutine
//	pace.go       how the goroutines wait when there is nothing to do
//
// Processes reach the device through Path and take pages by compare-and-swap
// on OWNER, which holds the process ID: device and processes share a PID
// namespace. The engine reaches into processes by cross-memory attach, so all
// run as the same user. The device keeps protection IDs and the counters that
// it writes in memory of its own, and no value of a register stops it; but
// every process maps every page, so protection IDs catch mistakes here, not
// malice.
package regs

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Config describes a device.
type Config struct {
	Node  uint8    // node ID
	PDIDs []uint32 // protection ID of each interface; there are 1 to 256
	Depth int      // messages a mailbox holds; 0: 256
}

// Device is a running software device.
type Device struct {
	cfg  Config
	file *os.File
	mem  mmio.Region
	lay  layout

	packetizers []mmio.Region
	mailboxes   []mmio.Region
	channels    []mmio.Region

	stop atomic.Bool
	wait sync.WaitGroup
}

// layout has the offsets of the blocks in the file and their strides.
type layout struct {
	packetizer, mailbox, channel int64
	mailboxStride                int
	size                         int64
}

func layoutOf(interfaces, depth int) (l layout) {
	pages := func(bytes int) int64 { return int64((bytes + mmio.PageSize - 1) &^ (mmio.PageSize - 1)) }
	n := int64(interfaces)
	l.mailboxStride = int(pages(mmio.SlotBase + depth*mmio.MessageSize))
	l.packetizer = pages(mmio.DirBase + interfaces*mmio.DirSize)
	l.mailbox = l.packetizer + n*mmio.PageSize
	l.channel = l.mailbox + n*int64(l.mailboxStride)
	l.size = l.channel + n*mmio.PageSize
	return l
}

// New makes a device and starts it. It runs until Close.
func New(cfg Config) (*Device, error) {
	if cfg.Depth == 0 {
		cfg.Depth = 256
	}
	if len(cfg.PDIDs) < 1 || len(cfg.PDIDs) > 256 || cfg.Depth < 1 {
		return nil, fmt.Errorf("software device: %d interfaces, mailboxes of %d messages: want 1 to 256 interfaces "+
			"and at least one message",
			len(cfg.PDIDs), cfg.Depth)
	}
	d := &Device{cfg: cfg, lay: layoutOf(len(cfg.PDIDs), cfg.Depth)}
	d.cfg.PDIDs = append([]uint32(nil), cfg.PDIDs...)
	// Sealed, so that no process can pull pages away from under the others.
	fd, err := sys.SealedMemory("exanet-device", d.lay.size)
	if err != nil {
		return nil, fmt.Errorf("software device: %w", err)
	}
	d.file = os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	if d.mem, err = mmio.Map(d.file, 0, int(d.lay.size)); err != nil {
		_ = d.file.Close()
		return nil, fmt.Errorf("software device of %d bytes: %w", d.lay.size, err)
	}
	d.fill()
	for _, run := range []func(){d.runPackets, d.runEngine, d.runOwners} {
		d.wait.Go(run)
	}
	return d, nil
}

// fill writes the registers that do not change.
func (d *Device) fill() {
	n := len(d.cfg.PDIDs)
	dir := d.mem.Sub(0, mmio.PageSize)
	dir.Reg(mmio.RegNode).Store(uint64(d.cfg.Node))
	dir.Reg(mmio.RegCount).Store(uint64(n))
	dir.Reg(mmio.DirPacketizer).Store(uint64(d.lay.packetizer))
	dir.Reg(mmio.DirMailbox).Store(uint64(d.lay.mailbox))
	dir.Reg(mmio.DirChannel).Store(uint64(d.lay.channel))

	block := func(kind uint32, at int64, stride, units int) (pages []mmio.Region) {
		for i, pdid := range d.cfg.PDIDs {
			p := d.mem.Sub(int(at)+i*stride, stride)
			p.Reg(mmio.RegNode).Store(uint64(d.cfg.Node))
			p.Reg(mmio.RegPDID).Store(uint64(pdid))
			p.Reg(mmio.RegIndex).Store(uint64(i))
			p.Reg(mmio.RegCount).Store(uint64(n))
			p.Reg(mmio.RegStride).Store(uint64(stride))
			p.Reg(mmio.RegUnits).Store(uint64(units))
			if kind == mmio.KindChannel {
				p.Reg(mmio.RegOffset).Store(mmio.ChannelOffset(d.cfg.Node, uint8(i)))
			}
			p.Reg(mmio.RegID).Store(mmio.ID(kind, mmio.FlagClaim))
			pages = append(pages, p)
		}
		return pages
	}
	d.packetizers = block(mmio.KindPacketizer, d.lay.packetizer, mmio.PageSize, mmio.Windows)
	d.mailboxes = block(mmio.KindMailbox, d.lay.mailbox, d.lay.mailboxStride, d.cfg.Depth)
	d.channels = block(mmio.KindChannel, d.lay.channel, mmio.PageSize, mmio.Descriptors)
	dir.Reg(mmio.RegID).Store(mmio.ID(mmio.KindDirectory, mmio.FlagClaim))
}

// File is the memory file. A child process that inherits it opens it as
// /proc/self/fd/N.
func (d *Device) File() *os.File { return d.file }

// Path opens the memory file from any process of this user while the device
// runs. The directory of docs/registers.md is at offset 0.
func (d *Device) Path() string { return d.file.Name() }

// Blocks returns the blocks' places in the file.
func (d *Device) Blocks() (packetizer, mailbox, channel mmio.Block) {
	return mmio.Block{Path: d.Path(), Offset: d.lay.packetizer},
		mmio.Block{Path: d.Path(), Offset: d.lay.mailbox},
		mmio.Block{Path: d.Path(), Offset: d.lay.channel}
}

// Close stops the hardware. Processes that hold pages keep their mappings;
// what they submit from now on stays where it is.
func (d *Device) Close() error {
	if d.stop.Swap(true) {
		return os.ErrClosed
	}
	d.wait.Wait()
	err := d.mem.Close()
	if e := d.file.Close(); err == nil {
		err = e
	}
	return err
}

package rdmaeng

import (
	"math/bits"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Block says where the pages of a block are: the path of a device node, or of
// a file that stands for one, and the offset of the first page.
type Block = mmio.Block

// Device is an RDMA channel of the prototype (docs/registers.md). It is an
// Engine: not safe for concurrent use.
type Device struct {
	page   *mmio.Page
	offset uint64
	desc   [mmio.Descriptors]descriptor
	free   uint32 // bit i: descriptor i carries nothing of ours

	slots  notices
	window *window // pinned memory, nil: the device knows virtual addresses
	counts Counts
	before uint64 // REFUSED when the channel was taken
}

// Counts is what became of the writes of a channel, and what others tried.
type Counts struct {
	Writes    uint64 `json:"writes"`    // started
	Bytes     uint64 `json:"bytes"`     // of those that were completed
	BadRoute  uint64 `json:"bad_route"` // no such node or channel
	Refused   uint64 `json:"refused"`   // the receiver has another protection ID
	Lost      uint64 `json:"lost"`      // the receiver has ended
	Faults    uint64 `json:"faults"`    // an address was not mapped, or misaligned
	Strangers uint64 `json:"strangers"` // writes to this channel that were refused
}

// descriptor is the process's view of a descriptor.
type descriptor struct {
	words  []uint64 // up to the notification data: written by the process
	submit mmio.Reg
	done   mmio.Reg
	err    mmio.Reg
	// The hardware reads t's source by its address; here the collector sees it.
	t *Transfer
	n int // bytes of t that are under way
}

var _ Limited = (*Device)(nil)

// Stages of a Transfer.
const (
	waiting uint8 = iota // no descriptor was free yet, or there is more to be written
	running
	ended
)

// AllocChannel acquires an RDMA channel: dma_alloc_chan of the thesis (2.4).
// pdid is the protection ID expected, 0 if any will do. It enters the kernel;
// nothing else of Device but Close does. Errors are those of
// packetizer.Attach.
func AllocChannel(b Block, pdid uint32) (*Device, error) {
	p, err := mmio.Claim(b, mmio.KindChannel, pdid)
	if err != nil {
		return nil, err
	}
	if p.Claimed {
		sys.AllowAttach() // the software device reaches our memory as another process
	}
	d := &Device{page: p, offset: p.Reg(mmio.RegOffset).Load(), free: 1<<mmio.Descriptors - 1,
		window: newWindow(p.Pinned)}
	d.before = p.Reg(mmio.RegRefused).Load()
	d.slots.init(d.window)
	for i := range d.desc {
		base := mmio.DescBase + i*mmio.DescSize
		d.desc[i] = descriptor{
			words:  p.Words(base, mmio.DescSubmit/8),
			submit: p.Reg(base + mmio.DescSubmit),
			done:   p.Reg(base + mmio.DescDone),
			err:    p.Reg(base + mmio.DescError),
		}
	}
	return d, nil
}

// Offset is what Address adds: get_exanet_offset of the thesis (2.4). Its high
// bits lead to this channel.
func (d *Device) Offset() uint64 { return d.offset }

// ProtectionID is what the driver wrote for this process.
func (d *Device) ProtectionID() uint32 { return d.page.PDID }

// Address returns the Exanet address of buf, memory of the process that owns
// the channel with the given offset, if the device knows virtual addresses:
// dma_get_exanet_addr of the thesis (2.4). It does not keep buf alive; Expose
// does.
func Address(buf []byte, offset uint64) uint64 { return mem.Addr(buf) + offset }

// Expose implements Engine.
func (d *Device) Expose(buf []byte) (slot int, w Window) {
	return d.expose(buf, len(buf))
}

func (d *Device) expose(buf []byte, n int) (slot int, w Window) {
	target := buf
	if d.window != nil {
		target = d.window.land(n)
	}
	slot, word := d.slots.arm(buf, target)
	if d.page.Present {
		sys.PopulateWrite(target)
		sys.PopulateWrite(word)
	}
	return slot, Window{Addr: d.local(target) + d.offset, Notify: d.local(word) + d.offset}
}

// ExposeView implements Engine. The hardware writes contiguous memory, from
// where Notified puts the data in their places.
func (d *Device) ExposeView(v datatype.View) (slot int, w Window) {
	if d.window != nil {
		slot, w = d.expose(nil, v.Size())
	} else {
		slot, w = d.Expose(make([]byte, v.Size()))
	}
	d.slots.slots[slot].view = v
	return slot, w
}

// Withdraw implements Engine. The prototype cannot recall a window: the
// protocol must know that no write is on its way.
func (d *Device) Withdraw(slot int) { d.slots.withdraw(slot) }

// Notified implements Engine. It looks at the slots that are exposed and not
// yet notified, in the order of Expose.
func (d *Device) Notified() (slot int, n Notification, ok bool) {
	if slot, n, ok = d.slots.next(); ok {
		d.slots.unpack(slot, n.Size())
	}
	return slot, n, ok
}

// Start implements Engine: dma_init_write of the thesis (2.4). If all
// descriptors are in use, Test tries again.
func (d *Device) Start(t *Transfer) {
	t.Done, t.Stage, t.Slot = 0, waiting, -1
	d.counts.Writes++
	if t.View.Type != nil && d.window == nil {
		t.Packed = make([]byte, t.View.Size())
		t.View.Pack(t.Packed, 0)
	}
	d.submit(t)
}

func (d *Device) submit(t *Transfer) {
	for b := d.free; b != 0; b &= b - 1 {
		i := bits.TrailingZeros32(b)
		c := &d.desc[i]
		n := c.submit.Load()
		if c.done.Load() != n {
			continue // still busy for a former owner of the channel
		}
		w, src, note := c.words, d.source(i, t), t.Notify
		if t.Done+len(src) < t.Size() {
			note = Pending // changes nothing
		}
		if d.page.Present {
			sys.Populate(src)
		}
		c.t, c.n = t, len(src)
		w[mmio.DescSrc/8] = d.local(src)
		w[mmio.DescDst/8] = t.Dst.Addr + uint64(t.Done)
		w[mmio.DescBytes/8] = uint64(len(src))
		w[mmio.DescNotif/8] = t.Dst.Notify
		w[mmio.DescData/8] = uint64(uint32(note[0])) | uint64(uint32(note[1]))<<32
		w[mmio.DescData/8+1] = uint64(uint32(note[2])) | uint64(uint32(note[3]))<<32
		c.submit.Store(n + 1) // release: hands the descriptor to the hardware
		d.free &^= 1 << i
		t.Stage, t.Slot = running, int32(i)
		return
	}
}

// source is where the device reads what it writes next of t, by descriptor i.
func (d *Device) source(i int, t *Transfer) []byte {
	switch {
	case d.window != nil:
		b := d.window.source(i)
		b = b[:min(len(b), t.Size()-t.Done)]
		t.Source().Pack(b, t.Done)
		d.window.Clean(b)
		return b
	case t.View.Type != nil:
		return t.Packed
	}
	return t.Src
}

// Test implements Engine: dma_test_transfer of the thesis (2.4). The error is
// a *TransferError.
func (d *Device) Test(t *Transfer) (done bool, err error) {
	switch t.Stage {
	case waiting:
		d.submit(t)
		return false, nil
	case ended:
		return true, nil
	}
	c := &d.desc[t.Slot]
	if c.done.Load() != c.submit.Load() { // acquire: ERROR is of this transfer
		return false, nil
	}
	code := c.err.Load()
	c.t = nil
	d.free |= 1 << t.Slot
	if code != mmio.OK {
		t.Stage = ended
		return true, d.failed(t, code)
	}
	if t.Done += c.n; t.Done < t.Size() {
		t.Stage = waiting
		d.submit(t)
		return false, nil
	}
	t.Stage = ended
	d.counts.Bytes += uint64(t.Size())
	return true, nil
}

// Order implements Engine: the hardware says that a write is done when it has notified.
func (d *Device) Order() Order { return AllOrder }

// failed counts a transfer that the hardware has ended with an error, which it returns.
func (d *Device) failed(t *Transfer, code uint64) error {
	switch code {
	case mmio.BadRoute:
		d.counts.BadRoute++
	case mmio.BadPDID:
		d.counts.Refused++
	case mmio.Gone:
		d.counts.Lost++
	default:
		d.counts.Faults++
	}
	return &TransferError{To: t.To, Dst: t.Dst, N: t.Size(), PDID: d.page.PDID, Err: mmio.Reason(code)}
}

// WriteCounts returns what has been counted so far.
func (d *Device) WriteCounts() Counts {
	c := d.counts
	c.Strangers = d.page.Reg(mmio.RegRefused).Load() - d.before
	return c
}

// Close gives the channel back. The caller has tested every transfer to its
// end and withdrawn every slot.
func (d *Device) Close() error {
	return d.page.Release()
}

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
}

var _ Engine = (*Device)(nil)

// Stages of a Transfer.
const (
	waiting uint8 = iota // no descriptor was free yet
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
	d := &Device{page: p, offset: p.Reg(mmio.RegOffset).Load(), free: 1<<mmio.Descriptors - 1}
	d.before = p.Reg(mmio.RegRefused).Load()
	d.slots.init()
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
// the channel with the given offset: dma_get_exanet_addr of the thesis (2.4).
// It does not keep buf alive; Expose does.
func Address(buf []byte, offset uint64) uint64 { return mem.Addr(buf) + offset }

// Expose implements Engine.
func (d *Device) Expose(buf []byte) (slot int, w Window) {
	slot, word := d.slots.arm(buf)
	return slot, Window{Addr: Address(buf, d.offset), Notify: Address(word, d.offset)}
}

// ExposeView implements Engine. The hardware writes contiguous memory, from
// where Notified puts the data in their places.
func (d *Device) ExposeView(v datatype.View) (slot int, w Window) {
	slot, w = d.Expose(make([]byte, v.Size()))
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
		d.slots.slots[slot].unpack(n.Size())
	}
	return slot, n, ok
}

// Start implements Engine: dma_init_write of the thesis (2.4). If all
// descriptors are in use, Test tries again.
func (d *Device) Start(t *Transfer) {
	t.Done, t.Stage, t.Slot = 0, waiting, -1
	d.counts.Writes++
	if t.View.Type != nil {
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
		c.t = t
		w, src := c.words, t.Src
		if t.View.Type != nil {
			src = t.Packed
		}
		w[mmio.DescSrc/8] = mem.Addr(src)
		w[mmio.DescDst/8] = t.Dst.Addr
		w[mmio.DescBytes/8] = uint64(len(src))
		w[mmio.DescNotif/8] = t.Dst.Notify
		w[mmio.DescData/8] = uint64(uint32(t.Notify[0])) | uint64(uint32(t.Notify[1]))<<32
		w[mmio.DescData/8+1] = uint64(uint32(t.Notify[2])) | uint64(uint32(t.Notify[3]))<<32
		c.submit.Store(n + 1) // release: hands the descriptor to the hardware
		d.free &^= 1 << i
		t.Stage, t.Slot = running, int32(i)
		return
	}
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
	t.Stage = ended
	if code != mmio.OK {
		return true, d.failed(t, code)
	}
	t.Done = t.Size()
	d.counts.Bytes += uint64(t.Size())
	return true, nil
}

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
func (d *Device) Close() error { return d.page.Release() }

package mbox

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
)

// Device is a mailbox of the prototype (docs/registers.md). It is a Box: not
// safe for concurrent use.
type Device struct {
	page  *mmio.Page
	tail  mmio.Reg
	head  mmio.Reg
	slots []uint64

	taken   uint64 // messages released
	arrived uint64 // TAIL when last read
	first   uint64 // TAIL and REFUSED when the mailbox was taken
	before  uint64
	msg     [packetizer.MessageSize / 8]uint64
}

var _ Box = (*Device)(nil)

// Attach acquires a mailbox: MBOX_ATTACH of the thesis (2.4). pdid is the
// protection ID expected, 0 if any will do. What lies in the mailbox from a
// former owner is dropped. Attach enters the kernel; nothing else of Device
// but Close does. Errors are those of packetizer.Attach.
func Attach(b packetizer.Block, pdid uint32) (*Device, error) {
	p, err := mmio.Claim(b, mmio.KindMailbox, pdid)
	if err != nil {
		return nil, err
	}
	d := &Device{
		page:  p,
		tail:  p.Reg(mmio.RegTail),
		head:  p.Reg(mmio.RegHead),
		slots: p.Words(mmio.SlotBase, p.Units*packetizer.MessageSize/8),
	}
	d.taken = d.tail.Load()
	d.arrived, d.first = d.taken, d.taken
	d.before = p.Reg(mmio.RegRefused).Load()
	d.head.Store(d.taken)
	return d, nil
}

// ProtectionID is the ID that senders must have: MBOX_GET_PROTECTION_ID of the
// thesis (2.4).
func (d *Device) ProtectionID() uint32 { return d.page.PDID }

// NodeID is the node that the mailbox is on: getBoardID of the thesis (2.4).
func (d *Device) NodeID() uint16 { return d.page.Node }

// Address is where others send to.
func (d *Device) Address() packetizer.Address {
	return packetizer.MailboxAddress(d.page.Node, d.page.PDID, uint16(d.page.Index))
}

// NodeIDAt is NodeID before anything is attached: it reads the NODE register
// of the block whose first page is at a physical address, through /dev/mem or
// a file that stands for it.
func NodeIDAt(path string, physical int64) (uint16, error) {
	r, err := mmio.NewReader(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	id, err := r.Load(physical + mmio.RegID)
	if err != nil {
		return 0, err
	}
	if err := mmio.CheckID(packetizer.Block{Path: path, Offset: physical}, id, mmio.KindMailbox); err != nil {
		return 0, err
	}
	node, err := r.Load(physical + mmio.RegNode)
	return uint16(node), err
}

// Next implements Box: _MBOX_TRY_DEQUEUE_64B of the thesis (2.4). The 64
// bytes are copied out of the slot, since device memory takes whole words
// only; the payload lies in the Device.
func (d *Device) Next() (h packetizer.Header, payload []byte, ok bool) {
	if d.arrived == d.taken {
		d.arrived = d.tail.Load() // acquire: the slots up to it are filled
		if d.arrived == d.taken {
			return h, nil, false
		}
	}
	slot := int(d.taken%uint64(d.page.Units)) * len(d.msg)
	for i, w := range d.slots[slot : slot+len(d.msg)] {
		d.msg[i] = w
	}
	n := min(int(uint32(d.msg[0])), packetizer.PayloadLimit)
	h = packetizer.Header{d.msg[0] &^ (1<<32 - 1), d.msg[1], d.msg[2]}
	return h, mem.Bytes(d.msg[packetizer.HeaderSize/8:])[:n:n], true
}

// Release implements Box.
func (d *Device) Release() {
	d.taken++
	d.head.Store(d.taken) // release: the slot has been read
}

// Counts is what has come to a mailbox.
type Counts struct {
	Received  uint64 `json:"messages"`
	Strangers uint64 `json:"strangers"` // refused, since they came with another protection ID
}

// ReceiveCounts returns what the hardware and this process have counted so far.
func (d *Device) ReceiveCounts() Counts {
	return Counts{d.taken - d.first, d.page.Reg(mmio.RegRefused).Load() - d.before}
}

// Close gives the mailbox back. Messages that arrive from then on are lost.
func (d *Device) Close() error { return d.page.Release() }

package packetizer

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// Block says where the pages of a block are: the path of a device node, or of
// a file that stands for one, and the offset of the first page.
type Block = mmio.Block

// Error says which operation failed on which path and page, and what to do.
type Error = mmio.Error

// What Attach and Refused report, for errors.Is.
var (
	ErrNoDevice   = mmio.ErrNoDevice
	ErrProtection = mmio.ErrProtection
	ErrExhausted  = mmio.ErrExhausted
	ErrMisaligned = mmio.ErrMisaligned
	ErrBusy       = mmio.ErrBusy
)

// Address is a mailbox address: node ID, protection ID and interface.
type Address uint64

// MailboxAddress derives the address of a mailbox from the IDs of its owner
// (thesis 2.4).
func MailboxAddress(node uint16, pdid uint32, index uint16) Address {
	return Address(mmio.MailboxAddress(node, pdid, index))
}

func (a Address) String() string {
	node, pdid, index := mmio.SplitMailboxAddress(uint64(a))
	return fmt.Sprintf("node %d, protection ID %d, mailbox %d", node, pdid, index)
}

// share is how many windows of a page messages to one mailbox may occupy, so
// that a full mailbox leaves windows for others.
const share = mmio.Windows / 4

// Device is a packetizer page of the prototype (docs/registers.md). It is a
// Port: not safe for concurrent use.
type Device struct {
	page *mmio.Page
	send mmio.Reg
	win  [mmio.Windows]window
	book []Address

	seq     uint64 // number of the last message sent
	busy    uint32 // bit i: window i was in use when last looked at
	refused error
}

// window is what the process keeps of a window.
type window struct {
	words  []uint64 // data, number, destination: written by the process
	done   mmio.Reg
	result mmio.Reg
	seq    uint64 // number of the message put there last
	to     int32
}

var _ Port = (*Device)(nil)

// Attach acquires a packetizer page, the sending half of MBOX_ATTACH of the
// thesis (2.4). pdid is the protection ID expected, 0 if any will do. Attach
// enters the kernel; nothing else of Device but Close does.
func Attach(b Block, pdid uint32) (*Device, error) {
	p, err := mmio.Claim(b, mmio.KindPacketizer, pdid)
	if err != nil {
		return nil, err
	}
	d := &Device{page: p, send: p.Reg(mmio.RegSend)}
	d.seq = d.send.Load()
	for i := range d.win {
		base := mmio.WindowBase + i*mmio.WindowSize
		w := &d.win[i]
		w.words = p.Words(base, (mmio.WinDest+8)/8)
		w.done, w.result = p.Reg(base+mmio.WinDone), p.Reg(base+mmio.WinResult)
		w.to = -1
		// A former owner may have left a message on its way, or one that it
		// never submitted: numbers above SEND are ours to use again.
		if w.seq = w.words[mmio.WinSeq/8]; w.seq > d.seq {
			w.seq = w.done.Load()
			w.words[mmio.WinSeq/8] = w.seq
		}
		d.busy |= 1 << i
	}
	return d, nil
}

// ProtectionID is what the driver wrote for this process.
func (d *Device) ProtectionID() uint32 { return d.page.PDID }

// SetBook gives the mailbox address of every rank. It must be called before
// TrySend; the device keeps the slice.
func (d *Device) SetBook(book []Address) { d.book = book }

// Limit implements Port.
func (d *Device) Limit() int { return PayloadLimit }

// TrySend implements Port. It is _MBOX_ENQUEUE_64B of the thesis (2.4): 64
// bytes to the mailbox address that the book has for the rank. It panics if
// the payload exceeds Limit or the book does not have the rank.
func (d *Device) TrySend(to int, h Header, payload []byte) bool {
	if len(payload) > PayloadLimit {
		panic(fmt.Sprintf("packetizer: payload of %d bytes exceeds %d", len(payload), PayloadLimit))
	}
	dest := d.book[to]
	toSame := d.harvest(int32(to))
	free := ^d.busy & (1<<mmio.Windows - 1)
	if free == 0 || toSame >= share {
		return false
	}
	i := bits.TrailingZeros32(free)
	w := &d.win[i]
	d.seq++
	w.seq, w.to = d.seq, int32(to)

	var body [PayloadLimit]byte
	copy(body[:], payload)
	// The device's half of word 0 carries the length of the payload.
	w.words[0] = h[0]&^(1<<32-1) | uint64(len(payload))
	w.words[1], w.words[2] = h[1], h[2]
	for k := range PayloadLimit / 8 {
		w.words[HeaderSize/8+k] = binary.LittleEndian.Uint64(body[8*k:])
	}
	w.words[mmio.WinSeq/8] = w.seq
	w.words[mmio.WinDest/8] = uint64(dest)
	d.send.Store(d.seq) // release: hands the window to the hardware
	d.busy |= 1 << i
	return true
}

// harvest takes back the windows that the hardware is done with and counts
// those that still carry messages to one rank.
func (d *Device) harvest(to int32) (same int) {
	for b := d.busy; b != 0; b &= b - 1 {
		i := bits.TrailingZeros32(b)
		w := &d.win[i]
		if w.done.Load() != w.seq { // acquire: the window is ours again
			if w.to == to {
				same++
			}
			continue
		}
		d.busy &^= 1 << i
		if r := w.result.Load(); w.to >= 0 && (r == mmio.BadPDID || r == mmio.BadRoute) && d.refused == nil {
			d.refused = d.refusal(r, Address(w.words[mmio.WinDest/8]))
		}
	}
	return same
}

func (d *Device) refusal(result uint64, a Address) error {
	e := &Error{Op: "send to " + a.String() + " from", Path: d.page.Path, Page: d.page.Index, PDID: d.page.PDID,
		Err: ErrProtection, Do: "exchange mailbox addresses again: only processes of one protection group reach each " +
			"other"}
	if result == mmio.BadRoute {
		e.Err, e.Do = ErrNoDevice, "exchange mailbox addresses again: there is no such mailbox"
	}
	return e
}

// Refused reports the first message that the hardware has dropped because its
// address was wrong: ErrProtection or ErrNoDevice. Messages to processes that
// have ended are lost without report.
func (d *Device) Refused() error {
	d.harvest(-1)
	return d.refused
}

// Drained reports whether the hardware has delivered every message.
func (d *Device) Drained() bool {
	d.harvest(-1)
	return d.busy == 0
}

// Close gives the page back. Messages on their way are still delivered.
func (d *Device) Close() error { return d.page.Release() }

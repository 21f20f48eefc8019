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
	ErrFault      = mmio.ErrFault
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

// nowhere is no mailbox's address.
const nowhere = ^Address(0)

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
	refused []*RefusedError
	counts  Counts
}

// Counts is what became of the messages of a page.
type Counts struct {
	Messages uint64 `json:"messages"`  // sent
	NoRoom   uint64 `json:"no_room"`   // times that a send found none: the mailbox or the windows were full
	BadRoute uint64 `json:"bad_route"` // no such node or mailbox
	Refused  uint64 `json:"refused"`   // the receiver has another protection ID
	Lost     uint64 `json:"lost"`      // the receiver has ended
	Faults   uint64 `json:"faults"`    // an agent could not write what they asked for
}

// window is what the process keeps of a window.
type window struct {
	words  []uint64 // data, number, destination: written by the process
	done   mmio.Reg
	result mmio.Reg
	seq    uint64 // number of the message put there last
	to     int32  // whom it is for, -1 if it is a former owner's
	dest   Address
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
		w.to, w.dest = -1, nowhere
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
// TrySend; the device keeps the slice. What was refused before is forgotten.
func (d *Device) SetBook(book []Address) { d.book, d.refused = book, nil }

// Limit implements Port.
func (d *Device) Limit() int { return PayloadLimit }

// TrySend implements Port. It is _MBOX_ENQUEUE_64B of the thesis (2.4): 64
// bytes to the mailbox address that the book has for the rank. After a refusal
// it takes no more for that rank. It panics if the payload exceeds Limit or the
// book does not have the rank.
func (d *Device) TrySend(to int, h Header, payload []byte) bool {
	return d.enqueue(to, d.book[to], h, payload)
}

// TryAsk sends to the agent of a rank's node.
func (d *Device) TryAsk(to int, h Header, payload []byte) bool {
	node, pdid, _ := mmio.SplitMailboxAddress(uint64(d.book[to]))
	return d.enqueue(to, MailboxAddress(node, pdid, mmio.AgentIndex), h, payload)
}

func (d *Device) enqueue(to int, dest Address, h Header, payload []byte) bool {
	if len(payload) > PayloadLimit {
		panic(fmt.Sprintf("packetizer: payload of %d bytes exceeds %d", len(payload), PayloadLimit))
	}
	toSame := d.harvest(dest)
	if d.refused != nil && d.refusal(to) != nil {
		return false
	}
	free := ^d.busy & (1<<mmio.Windows - 1)
	if free == 0 || toSame >= share {
		d.counts.NoRoom++
		return false
	}
	i := bits.TrailingZeros32(free)
	w := &d.win[i]
	d.seq++
	w.seq, w.to, w.dest = d.seq, int32(to), dest
	d.counts.Messages++

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
// those that still carry messages to one mailbox.
func (d *Device) harvest(dest Address) (same int) {
	for b := d.busy; b != 0; b &= b - 1 {
		i := bits.TrailingZeros32(b)
		w := &d.win[i]
		if w.done.Load() != w.seq { // acquire: the window is ours again
			if w.dest == dest {
				same++
			}
			continue
		}
		d.busy &^= 1 << i
		if w.to >= 0 {
			d.delivered(int(w.to), w.dest, w.result.Load())
		}
	}
	return same
}

// delivered notes what has become of a message.
func (d *Device) delivered(to int, dest Address, result uint64) {
	switch result {
	case mmio.OK:
		return
	case mmio.Gone:
		d.counts.Lost++
		return
	case mmio.BadRoute:
		d.counts.BadRoute++
	case mmio.BadPDID:
		d.counts.Refused++
	default:
		d.counts.Faults++
	}
	if d.refusal(to) == nil {
		d.refused = append(d.refused, &RefusedError{To: to, Address: dest, PDID: d.page.PDID, Err: mmio.Reason(result)})
	}
}

// refusal is the first one of a rank.
func (d *Device) refusal(to int) *RefusedError {
	for _, e := range d.refused {
		if e.To == to {
			return e
		}
	}
	return nil
}

// RefusedError is a message that the hardware has dropped because its address
// was wrong, or, if it was for an agent, what it asked for.
type RefusedError struct {
	To      int // rank, as given to TrySend
	Address Address
	PDID    uint32 // of the sender
	Err     error  // ErrProtection, ErrNoDevice; of an agent also others
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("message to rank %d (%v) from protection ID %d: %v; %s", e.To, e.Address, e.PDID, e.Err, e.Do())
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Do says what to do about it.
func (e *RefusedError) Do() string {
	switch e.Err {
	case ErrProtection:
		return "start all ranks as one job: only processes of one protection group reach each other"
	case ErrNoDevice:
		return "see whether that node runs and which mailboxes its device has: there is no such node or mailbox"
	}
	return "see whether the device may reach the memory of that rank (ptrace_scope, seccomp)"
}

// Refused reports the first message that the hardware has dropped because its
// address was wrong, as a *RefusedError. Messages to processes that have ended
// are lost without report.
func (d *Device) Refused() error {
	if all := d.Refusals(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Refusals returns the first RefusedError of each rank that has one.
func (d *Device) Refusals() []*RefusedError {
	d.harvest(nowhere)
	return d.refused
}

// SendCounts returns what has been counted so far.
func (d *Device) SendCounts() Counts {
	d.harvest(nowhere)
	return d.counts
}

// Drained reports whether the hardware has delivered every message.
func (d *Device) Drained() bool {
	d.harvest(nowhere)
	return d.busy == 0
}

// Close gives the page back. Messages on their way are still delivered.
func (d *Device) Close() error { return d.page.Release() }

// Package rdmaeng writes into the memory of other processes and notifies them
// (thesis 2.3).
//
// A receiver exposes a buffer and gets a Window: two 64-bit Exanet addresses,
// of the buffer and of the notification word. It sends them to whoever shall
// write. The writer starts a Transfer to them and tests it for completion;
// the receiver learns of the completed write, and of the 16 bytes that came
// with it, from Notified.
//
// Engine is what the layers above use. Its implementations are Device in this
// package, which drives the memory-mapped engine of the prototype, and
// emu/host, which copies through shared memory or by cross-memory attach.
package rdmaeng

import (
	"errors"

	"github.com/exanet-mpi/exanet/datatype"
)

// Window names a remote buffer and the notification word that goes with it,
// both as Exanet addresses (dma_get_exanet_addr of the thesis, 2.4). Windows travel in control
// messages; only the rank that exposed the buffer and its fabric give the bits a meaning.
type Window struct{ Addr, Notify uint64 }

// Notification is the 16 bytes that arrive with a completed write. The
// protocols fill them as in thesis 3.3: size in bytes (low 32 bits), tag,
// whether an RTS was sent, and the size's high 32 bits. The third word is
// stored last, with release order: it is -1 until the write is complete, and
// 0 or 1 from then on.
type Notification [4]int32

// Size is the size of the message that a notification tells of.
func (n Notification) Size() int {
	return int(uint64(uint32(n[0])) | uint64(uint32(n[3]))<<32)
}

// Pending is what a notification word holds before its write has completed.
var Pending = Notification{-1, -1, -1, -1}

// Transfer is one RDMA write in flight, dma_transfer_t of the thesis (2.4).
// The caller owns the memory of the Transfer and of its source and leaves both
// alone from Start until Test has reported completion.
type Transfer struct {
	To     int           // destination rank
	Src    []byte        // local source; empty: notify only
	View   datatype.View // local source, instead of Src, if it has gaps
	Dst    Window
	Notify Notification
	Silent bool // nobody is notified: the receiver watches, see Watcher

	// Progress of the transfer, owned by the engine.
	Done   int    // bytes written so far
	Stage  uint8  // engine-specific
	Slot   int32  // engine-specific
	Share  uint32 // engine-specific
	Packed []byte // View in one piece, if the engine needs it so

	// Set by Start, and taken back as the transfer goes on: the other side carries
	// it on as well when it polls, so there is no need to Test it before
	// this rank has to wait for something.
	Shared bool
	// Of a transfer that is shared, or lent: nobody need care for it while this rank
	// computes, since no processor is idle that could do that.
	Unhurried bool
}

// Size is the number of bytes to be written.
func (t *Transfer) Size() int {
	if t.View.Type != nil {
		return t.View.Size()
	}
	return len(t.Src)
}

// Source is where the bytes to be written lie.
func (t *Transfer) Source() datatype.View {
	if t.View.Type != nil {
		return t.View
	}
	return datatype.Bytes(t.Src)
}

// ErrPeer is what Test returns for a transfer to a rank that has died.
var ErrPeer = errors.New("the peer has died")

// Engine moves bulk data for one rank. It is not safe for concurrent use: its
// rank serialises the calls.
type Engine interface {
	// Expose makes buf writable by others until Withdraw and returns a slot,
	// a small number that names it locally, and what a writer must know.
	Expose(buf []byte) (slot int, w Window)

	// ExposeView is Expose for memory with gaps: what is written are the bytes
	// of its packed stream, and none of the gaps. An engine that writes
	// contiguous memory only puts them in their places before Notified.
	ExposeView(v datatype.View) (slot int, w Window)

	// Withdraw ends the exposure. Writes that arrive later are discarded
	// where the engine can tell (emu/host through shared memory); for the
	// others the protocol must know that none is on its way.
	Withdraw(slot int)

	// Start begins a write of the source to t.Dst, followed by t.Notify to its
	// notification word. It never waits: dma_init_write of the thesis (2.4).
	Start(t *Transfer)

	// Test carries t on as far as it goes without waiting and reports whether
	// the source may be reused: dma_test_transfer of the thesis (2.4). An
	// error ends the transfer.
	Test(t *Transfer) (done bool, err error)

	// Notified returns the slot and the data of one completed write, in
	// order of completion. Each write is reported once.
	Notified() (slot int, n Notification, ok bool)

	// Order is what this device promises.
	Order() Order
}

// CarryOn tests transfers, and returns those that have not ended, in the same memory.
func CarryOn(e Engine, list []*Transfer) []*Transfer {
	keep := list[:0]
	for _, t := range list {
		if done, _ := e.Test(t); !done {
			keep = append(keep, t)
		}
	}
	clear(list[len(keep):])
	return keep
}

// Lender is an Engine that lets the receiving side of a transfer begin before its
// writer does, or while that does something else: the writer lends the source, and
// tells the receiver by a message of its own what Lend has returned.
type Lender interface {
	Engine

	// Lend offers the source of t to t.To, before its destination is known. The
	// transfer can be started later with the same t, or Reclaim ends the loan. It
	// reports false, having done nothing, if this is not worth it or not possible.
	Lend(t *Transfer) (src Window, ok bool)

	// Borrow carries on a transfer of size bytes that rank from has lent to
	// an exposed slot, to which the writer may write as well once it has started
	// it. Whoever of the two ends it, it is notified with n. Borrow reports false if
	// this side cannot copy, so that the writer has to.
	Borrow(slot, from int, src Window, size int, n Notification) bool

	// Reclaim ends a loan that nobody has borrowed.
	Reclaim(t *Transfer)
}

// Limited is an Engine whose exposures, and offers of a Reader, take room that may not be there.
type Limited interface {
	Engine

	// Room returns a *WindowError if an exposure of n bytes has no room now. Then Expose and Offer panic.
	Room(n int) error
}

// Watcher is an Engine that can see the last byte of an exposed buffer change, and so the end of a write that is
// Silent.
type Watcher interface {
	Engine

	// Watch has Notified return n for an exposed slot, once, when the last byte of its buffer is no longer what it is
	// now. Only a Silent write of as many bytes as the buffer has may come until then, or a notification.
	Watch(slot int, n Notification)

	// Unwatch ends that: others write to the slot now, with a notification.
	Unwatch(slot int)
}

// Reader is an Engine with the agent that the read-based baseline needs: a
// processor next to the sender (an R5 on the prototype, thesis 2.6) that starts
// a write there on a receiver's word, which so emulates a read.
type Reader interface {
	Engine

	// Offer lets others fetch from buf until Withdraw; src.Notify names it.
	Offer(buf []byte) (slot int, src Window)

	// OfferView is Offer for memory with gaps.
	OfferView(v datatype.View) (slot int, src Window)

	// Fetch asks the agent of rank from to write the first size bytes of src
	// to dst, followed by the notification. It reports false, having done
	// nothing, if the agent's mailbox is full.
	Fetch(from int, src, dst Window, size int, n Notification) bool
}

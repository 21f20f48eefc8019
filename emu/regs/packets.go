package regs

import (
	"slices"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// sender is the hardware's side of a packetizer page.
type sender struct {
	page  mmio.Region
	pdid  uint32
	send  mmio.Reg
	taken uint64 // SEND up to which messages have been taken in

	// Messages taken in and not delivered, in the order of their numbers.
	queue []queued
	held  uint32 // bit i: window i is in queue
}

type queued struct {
	window int
	seq    uint64
	fetch  *fetch // what an agent is at, if the message asks for a write
}

func newSender(page mmio.Region, pdid uint32) sender {
	return sender{page: page, pdid: pdid, send: page.Reg(mmio.RegSend), queue: make([]queued, 0, mmio.Windows)}
}

// mailbox is the hardware's side of a mailbox.
type mailbox struct {
	page mmio.Region
	pdid uint32
	tail uint64

	refused uint64 // messages of other protection IDs
}

// runPackets carries messages from the windows of packetizers to the slots of
// mailboxes, of whatever nodes. It is the only writer of TAIL and of the slots.
//
// A message to a full mailbox stays in its window, and so do later ones of
// the same sender to the same mailbox; everything else passes. Each pass
// starts with the next sender, so that a mailbox that is nearly always full
// serves them in turn.
func (d *Device) runPackets() {
	var senders []*sender
	for _, n := range d.nodes {
		for i := range n.senders {
			senders = append(senders, &n.senders[i])
		}
	}
	var p pace
	for first := 0; !d.stop.Load(); first++ {
		worked := false
		for i := range senders {
			s := senders[(first+i)%len(senders)]
			s.take(d.fault)
			if len(s.queue) > 0 && d.deliver(s) {
				worked = true
			}
		}
		p.wait(worked)
	}
}

// take brings newly submitted windows into the queue. SEND is read first: a
// window with a number up to it was filled before, so none is overtaken by
// one that this pass sees and that one does not.
func (s *sender) take(fault Fault) {
	sent := s.send.Load()
	if sent == s.taken {
		return
	}
	for i := range mmio.Windows {
		seq := s.page.Words(mmio.WindowBase+i*mmio.WindowSize+mmio.WinSeq, 1)[0]
		if seq <= s.taken || seq > sent || s.held&(1<<i) != 0 {
			continue
		}
		if fault == SendLost && seq%overlooked == 0 {
			continue
		}
		at := len(s.queue)
		for at > 0 && (s.queue[at-1].seq > seq || fault == Swapped) {
			at--
		}
		s.queue = append(s.queue, queued{})
		copy(s.queue[at+1:], s.queue[at:])
		s.queue[at] = queued{window: i, seq: seq}
		s.held |= 1 << i
	}
	s.taken = sent
}

// deliver delivers what it can of a sender's queue.
func (d *Device) deliver(s *sender) (worked bool) {
	var refusing [mmio.Windows]*mailbox // those that are full for an earlier message
	full := refusing[:0]
	kept := s.queue[:0]
	for _, q := range s.queue {
		base := mmio.WindowBase + q.window*mmio.WindowSize
		w := s.page.Words(base, mmio.WindowSize/8)
		result, stays := d.attempt(s.pdid, &q, w, &full)
		if stays {
			kept = append(kept, q)
			continue
		}
		if d.fault == BadRouteOK && result == mmio.BadRoute {
			result = mmio.OK
		}
		if d.fault == DoneEarly {
			s.page.Reg(base + mmio.WinDone).Store(q.seq)
			gap()
		}
		s.page.Reg(base + mmio.WinResult).Store(result)
		s.page.Reg(base + mmio.WinDone).Store(q.seq) // release: the window is the sender's again
		s.held &^= 1 << q.window
		worked = true
	}
	s.queue = kept
	return worked
}

// attempt delivers a message, or says why that cannot be, unless it stays in its
// window: for a mailbox that is full, which it adds to those that are, or
// because an agent is not done with it.
func (d *Device) attempt(pdid uint32, q *queued, w []uint64, full *[]*mailbox) (result uint64, stays bool) {
	dest := w[mmio.WinDest/8]
	n := d.agentFor(dest)
	if n != nil && d.fault == AgentDeaf {
		return mmio.OK, false
	}
	if n != nil && q.fetch == nil {
		q.fetch = d.ask(pdid, n, w[:mmio.MessageSize/8])
	}
	if q.fetch != nil {
		if !q.fetch.done.Load() { // acquire: the result is there
			return 0, true
		}
		return q.fetch.result, false
	}
	box, result := d.route(pdid, dest)
	if result == mmio.OK && (slices.Contains(*full, box) || !d.put(box, w[:mmio.MessageSize/8])) {
		*full = append(*full, box)
		return 0, true
	}
	return result, false
}

// route finds the mailbox that an address names, if a sender with this
// protection ID may send to it.
func (d *Device) route(pdid uint32, dest uint64) (box *mailbox, result uint64) {
	id, addressed, index := mmio.SplitMailboxAddress(dest)
	if int(id) >= len(d.at) || d.at[id] == nil || int(index) >= len(d.at[id].mailboxes) {
		return nil, mmio.BadRoute
	}
	box = &d.at[id].mailboxes[index]
	switch {
	case (box.pdid != pdid || addressed != pdid) && d.fault != AnyPDID:
		if d.fault != Uncounted {
			box.refused++
		}
		box.page.Reg(mmio.RegRefused).Store(box.refused)
		return box, mmio.BadPDID
	case box.page.Reg(mmio.RegOwner).Load() == 0:
		return box, mmio.Gone
	}
	return box, mmio.OK
}

// put appends a message to a mailbox unless it is full.
func (d *Device) put(box *mailbox, msg []uint64) bool {
	// Acquire: slots below HEAD have been read.
	if box.tail-box.page.Reg(mmio.RegHead).Load() >= uint64(d.depth) && d.fault != HeadIgnored {
		return false
	}
	slot := box.page.Words(mmio.SlotBase+int(box.tail%uint64(d.depth))*mmio.MessageSize, len(msg))
	if d.fault == TailEarly {
		box.page.Reg(mmio.RegTail).Store(box.tail + 1)
		gap()
	}
	for i, w := range msg {
		slot[i] = w
	}
	box.tail++
	box.page.Reg(mmio.RegTail).Store(box.tail) // release: publishes the slot
	return true
}

package regs

import "github.com/exanet-mpi/exanet/internal/mmio"

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
}

// runPackets carries messages from the windows of packetizers to the slots of
// mailboxes. It is the only writer of TAIL and of the slots.
//
// A message to a full mailbox stays in its window, and so do later ones of
// the same sender to the same mailbox; everything else passes. Each pass
// starts with the next sender, so that a mailbox that is nearly always full
// serves them in turn.
func (d *Device) runPackets() {
	senders := make([]sender, len(d.packetizers))
	for i, p := range d.packetizers {
		senders[i] = sender{page: p, pdid: d.cfg.PDIDs[i], send: p.Reg(mmio.RegSend),
			queue: make([]queued, 0, mmio.Windows)}
	}
	tails := make([]uint64, len(d.mailboxes))
	var p pace
	for first := 0; !d.stop.Load(); first++ {
		worked := false
		for i := range senders {
			s := &senders[(first+i)%len(senders)]
			s.take()
			if len(s.queue) > 0 && d.deliver(s, tails) {
				worked = true
			}
		}
		p.wait(worked)
	}
}

// take brings newly submitted windows into the queue. SEND is read first: a
// window with a number up to it was filled before, so none is overtaken by
// one that this pass sees and that one does not.
func (s *sender) take() {
	sent := s.send.Load()
	if sent == s.taken {
		return
	}
	for i := range mmio.Windows {
		seq := s.page.Words(mmio.WindowBase+i*mmio.WindowSize+mmio.WinSeq, 1)[0]
		if seq <= s.taken || seq > sent || s.held&(1<<i) != 0 {
			continue
		}
		at := len(s.queue)
		for at > 0 && s.queue[at-1].seq > seq {
			at--
		}
		s.queue = append(s.queue, queued{})
		copy(s.queue[at+1:], s.queue[at:])
		s.queue[at] = queued{i, seq}
		s.held |= 1 << i
	}
	s.taken = sent
}

// deliver delivers what it can of a sender's queue.
func (d *Device) deliver(s *sender, tails []uint64) (worked bool) {
	var full [256 / 64]uint64 // mailboxes that refused an earlier message
	kept := s.queue[:0]
	for _, q := range s.queue {
		base := mmio.WindowBase + q.window*mmio.WindowSize
		w := s.page.Words(base, mmio.WindowSize/8)
		box, result := d.route(s.pdid, w[mmio.WinDest/8])
		if result == mmio.OK {
			if full[box/64]&(1<<(box%64)) != 0 || !d.put(box, tails, w[:mmio.MessageSize/8]) {
				full[box/64] |= 1 << (box % 64)
				kept = append(kept, q)
				continue
			}
		}
		s.page.Reg(base + mmio.WinResult).Store(result)
		s.page.Reg(base + mmio.WinDone).Store(q.seq) // release: the window is the sender's again
		s.held &^= 1 << q.window
		worked = true
	}
	s.queue = kept
	return worked
}

// route finds the mailbox that an address names, if a sender with this
// protection ID may send to it.
func (d *Device) route(pdid uint32, dest uint64) (box int, result uint64) {
	node, addressed, index := mmio.SplitMailboxAddress(dest)
	box = int(index)
	switch {
	case node != uint16(d.cfg.Node) || box >= len(d.mailboxes):
		return box, mmio.BadRoute
	case d.cfg.PDIDs[box] != pdid || addressed != pdid:
		return box, mmio.BadPDID
	case d.mailboxes[box].Reg(mmio.RegOwner).Load() == 0:
		return box, mmio.Gone
	}
	return box, mmio.OK
}

// put appends a message to a mailbox unless it is full.
func (d *Device) put(box int, tails []uint64, msg []uint64) bool {
	m, tail := d.mailboxes[box], tails[box]
	if tail-m.Reg(mmio.RegHead).Load() >= uint64(d.cfg.Depth) { // acquire: slots below HEAD have been read
		return false
	}
	at := mmio.SlotBase + int(tail%uint64(d.cfg.Depth))*mmio.MessageSize
	slot := m.Words(at, len(msg))
	for i, w := range msg {
		slot[i] = w
	}
	tails[box] = tail + 1
	m.Reg(mmio.RegTail).Store(tail + 1) // release: publishes the slot
	return true
}

package rdmaeng

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Notification words are handed out in chunks, so that they stay where they
// are when more are needed: their addresses are known to others.
const (
	noticeSize  = 16 // bytes, and their alignment
	chunkShift  = 6
	chunkSlots  = 1 << chunkShift
	thirdOffset = 8 // the word that is written last
)

// notices keeps the exposed buffers of a channel and their notification
// words. The armed ones, exposed and not yet notified, form a list in the
// order of their exposure; slots that are withdrawn are used again.
type notices struct {
	window *window // where the words are, and what is exposed; nil: anywhere
	each   int     // bytes from one word to the next
	chunks [][]byte
	slots  []notice
	head   int32 // first and last armed slot, or -1
	tail   int32
	free   int32 // first of the free slots, linked by next, or -1
}

type notice struct {
	buf        []byte        // where the data belong; keeps it reachable for the collector
	view       datatype.View // where the data belong, if not in buf
	target     []byte        // where they are written; part of the window, if there is one
	prev, next int32
	armed      bool
}

// unpack puts the data of a message of size bytes in their places, if they are
// not there. Of one that is too long nothing has been written.
func (s *notices) unpack(slot, size int) {
	n := &s.slots[slot]
	if size >= 0 && size <= len(n.target) && (n.view.Type != nil || s.window != nil) {
		data := n.target[:size]
		if s.window != nil {
			s.window.Purge(data)
		}
		if n.view.Type != nil {
			n.view.Unpack(data, 0)
		} else {
			copy(n.buf, data)
		}
	}
	s.leave(n)
}

// leave gives back what a slot has of the window.
func (s *notices) leave(n *notice) {
	if s.window != nil {
		s.window.leave(n.target)
	}
	n.target = nil
}

func (s *notices) init(w *window) {
	s.head, s.tail, s.free = -1, -1, -1
	s.window, s.each = w, noticeSize
	if w != nil {
		s.each = line
	}
}

// word is the notification word of a slot: four int32.
func (s *notices) word(slot int) []byte {
	at := slot & (chunkSlots - 1) * s.each
	return s.chunks[slot>>chunkShift][at : at+noticeSize : at+noticeSize]
}

// arm takes a slot for what is written to target and returns its notification
// word, set to Pending.
func (s *notices) arm(buf, target []byte) (slot int, word []byte) {
	if s.free < 0 {
		s.grow()
	}
	i := s.free
	n := &s.slots[i]
	s.free = n.next
	*n = notice{buf: buf, target: target, prev: s.tail, next: -1, armed: true}
	if s.tail >= 0 {
		s.slots[s.tail].next = i
	} else {
		s.head = i
	}
	s.tail = i
	word = s.word(int(i))
	*mem.Struct[Notification](word, 0) = Pending
	s.look(word)
	return int(i), word
}

// look has the next load of a notification word see what the device has written,
// and the device's next write not be overwritten by what this process has.
func (s *notices) look(word []byte) {
	if s.window != nil {
		s.window.Purge(word)
	}
}

// grow adds a chunk of free slots.
func (s *notices) grow() {
	var chunk []byte
	if s.window != nil {
		chunk = s.window.land(chunkSlots * line)
	} else {
		chunk = aligned(chunkSlots * noticeSize)
	}
	s.chunks = append(s.chunks, chunk)
	first := len(s.slots)
	for i := range chunkSlots {
		s.slots = append(s.slots, notice{next: int32(first + i + 1)})
	}
	s.slots[len(s.slots)-1].next = s.free
	s.free = int32(first)
}

// aligned returns n bytes at a multiple of a notification's size.
func aligned(n int) []byte {
	raw := make([]byte, n+noticeSize)
	pad := int(-mem.Addr(raw) % noticeSize)
	return raw[pad : pad+n : pad+n]
}

// next finds the first armed slot whose write has completed and disarms it.
//
// The third word decides, and it counts from the moment that it is 0 or 1:
// whatever order its bytes arrive in, a -1 that is half overwritten is
// neither.
func (s *notices) next() (slot int, n Notification, ok bool) {
	for i := s.head; i >= 0; i = s.slots[i].next {
		word := s.word(int(i))
		s.look(word)
		if mem.U32(word, thirdOffset).Load() <= 1 { // acquire: the rest and the data are there
			s.look(word) // the words before may have been loaded earlier
			s.disarm(i)
			return int(i), *mem.Struct[Notification](word, 0), true
		}
	}
	return 0, n, false
}

func (s *notices) disarm(i int32) {
	n := &s.slots[i]
	if n.prev >= 0 {
		s.slots[n.prev].next = n.next
	} else {
		s.head = n.next
	}
	if n.next >= 0 {
		s.slots[n.next].prev = n.prev
	} else {
		s.tail = n.prev
	}
	n.armed = false
}

func (s *notices) withdraw(slot int) {
	i := int32(slot)
	if s.slots[i].armed {
		s.disarm(i)
		s.look(s.word(slot)) // whoever arms it next overwrites what the device has written, not what this process has
	}
	s.leave(&s.slots[i])
	s.slots[i] = notice{next: s.free}
	s.free = i
}

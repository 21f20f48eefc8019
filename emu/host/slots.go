package host

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// exposures are the exposed buffers of a rank.
type exposures struct {
	slots    []slot
	free     []int32
	notified []int32 // slots whose write has completed, in order
	taken    int     // of notified
}

// slot is an exposed buffer, which the collector sees here. Its generation is
// part of the notify address, so that a record for an earlier exposure of the
// slot is recognised.
type slot struct {
	open bool
	gen  uint32
	buf  []byte
	view datatype.View // instead of buf, if the memory has gaps
	data rdmaeng.Notification
}

func (s *slot) size() int {
	if s.view.Type != nil {
		return s.view.Size()
	}
	return len(s.buf)
}

// put deposits a piece of a write.
func (s *slot) put(piece []byte, off int) {
	switch {
	case len(piece) > s.size()-off:
	case s.view.Type == nil:
		mem.Across(s.buf[off:], piece)
	default:
		s.view.Unpack(piece, off)
	}
}

func (t *exposures) arm(buf []byte, v datatype.View) (i int32, notify uint64) {
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = int32(len(t.slots))
		t.slots = append(t.slots, slot{})
	}
	s := &t.slots[i]
	s.open, s.buf, s.view, s.data = true, buf, v, rdmaeng.Pending
	return i, uint64(i) | uint64(s.gen)<<32
}

// Expose implements rdmaeng.Engine.
func (f *Fabric) Expose(buf []byte) (int, rdmaeng.Window) {
	i, notify := f.arm(buf, datatype.View{})
	return int(i), rdmaeng.Window{Addr: mem.Addr(buf), Notify: notify}
}

// ExposeView implements rdmaeng.Engine. The window has no address: nobody writes but this rank, which knows
// the layout.
func (f *Fabric) ExposeView(v datatype.View) (int, rdmaeng.Window) {
	i, notify := f.arm(nil, v)
	return int(i), rdmaeng.Window{Notify: notify}
}

// Withdraw implements rdmaeng.Engine.
func (t *exposures) Withdraw(i int) {
	s := &t.slots[i]
	s.open, s.buf, s.view = false, nil, datatype.View{}
	s.gen++
	t.free = append(t.free, int32(i))
}

// exposed returns the slot of a notify address if it still stands.
func (t *exposures) exposed(notify uint64) (int32, *slot) {
	i := uint32(notify)
	if int(i) >= len(t.slots) {
		return 0, nil
	}
	s := &t.slots[i]
	if !s.open || s.gen != uint32(notify>>32) {
		return 0, nil
	}
	return int32(i), s
}

// A write comes in pieces, in order: through a ring, or from another host (emu/net).

// Room is n bytes of an exposed buffer from an offset on, nil if it has been withdrawn or has gaps.
func (t *exposures) Room(notify uint64, off, n int) []byte {
	if _, s := t.exposed(notify); s != nil && s.view.Type == nil && off >= 0 && n <= len(s.buf)-off {
		return s.buf[off:][:n]
	}
	return nil
}

// Deposit puts a piece of a write into its place. One for a buffer that has been withdrawn is discarded.
func (t *exposures) Deposit(notify uint64, piece []byte, off int) {
	if _, s := t.exposed(notify); s != nil && off >= 0 {
		s.put(piece, off)
	}
}

// Complete ends a write, all of whose pieces are in their places.
func (t *exposures) Complete(notify uint64, n rdmaeng.Notification) {
	if i, s := t.exposed(notify); s != nil {
		s.data = n
		t.notified = append(t.notified, i)
	}
}

// Exposed is the memory behind a notify address, in one piece or with gaps.
func (t *exposures) Exposed(notify uint64) (buf []byte, v datatype.View, ok bool) {
	_, s := t.exposed(notify)
	if s == nil {
		return nil, v, false
	}
	return s.buf, s.view, true
}

// Notified implements rdmaeng.Engine.
func (t *exposures) Notified() (int, rdmaeng.Notification, bool) {
	for t.taken < len(t.notified) {
		i := t.notified[t.taken]
		t.taken++
		s := &t.slots[i]
		if s.open && s.data[2] >= 0 {
			n := s.data
			s.data = rdmaeng.Pending
			return int(i), n, true
		}
	}
	t.notified, t.taken = t.notified[:0], 0
	return 0, rdmaeng.Notification{}, false
}

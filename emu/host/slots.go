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

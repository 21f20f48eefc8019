package host

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The RDMA engine of a rank. A transfer goes through the ring in pieces, or
// straight into the other process's memory (or, between ranks of one process,
// the other rank's) with only the notification through the ring.
const (
	stageNew uint8 = iota
	stageRing
	stageCopy
	stageNotify
)

const (
	ringLimit  = 8 << 10  // up to this size two copies beat a system call
	ringPiece  = 16 << 10 // of a transfer through the ring, at most a quarter of bulk
	localPiece = 8 << 10
	// Of a direct copy, between two looks at the mailbox. Up to this size a
	// non-blocking send that finds its RTR is complete when it returns, as in the
	// thesis (3.4), and wakes no background goroutine.
	copyPiece = 4 << 20
)

// slot is an exposed buffer. Its generation is part of the notify address, so
// that a record for an earlier exposure of the slot is recognised.
type slot struct {
	buf  []byte // nil: withdrawn
	gen  uint32
	data rdmaeng.Notification
}

type engine struct {
	slots    []slot
	free     []int32
	notified []int32 // slots whose write has completed, in order
	taken    int     // of notified

	pidfds map[int]int // of ranks that cross-memory attach reaches

	fetches []*rdmaeng.Transfer // that the agent carries out
}

// depositRecord and notifyRecord are the records between fabrics. Word 0 keeps
// the kind above the device's 32 bits, word 1 the notify address, word 2 the
// offset into the exposed buffer.
const (
	depositRecord = 1 + iota // a piece of a write
	depositLast              // the last piece, with the notification
	notifyRecord             // a notification alone
	fetchRecord              // a word to this rank's agent, see agent.go
)

// recordBody is the part of a record in the cell's payload.
type recordBody struct {
	size   uint64
	notify rdmaeng.Notification
}

// Expose implements rdmaeng.Engine.
func (f *Fabric) Expose(buf []byte) (int, rdmaeng.Window) {
	var i int32
	if n := len(f.free); n > 0 {
		i = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		i = int32(len(f.slots))
		f.slots = append(f.slots, slot{})
	}
	s := &f.slots[i]
	if buf == nil {
		buf = []byte{}
	}
	s.buf, s.data = buf, rdmaeng.Pending
	return int(i), rdmaeng.Window{Addr: mem.Addr(buf), Notify: uint64(i) | uint64(s.gen)<<32}
}

// Withdraw implements rdmaeng.Engine.
func (f *Fabric) Withdraw(i int) {
	s := &f.slots[i]
	s.buf = nil
	s.gen++
	f.free = append(f.free, int32(i))
}

// exposed returns the slot of a notify address if it still stands.
func (f *Fabric) exposed(notify uint64) (int32, *slot) {
	i := uint32(notify)
	if int(i) >= len(f.slots) {
		return 0, nil
	}
	s := &f.slots[i]
	if s.buf == nil || s.gen != uint32(notify>>32) {
		return 0, nil
	}
	return int32(i), s
}

// Notified implements rdmaeng.Engine.
func (f *Fabric) Notified() (int, rdmaeng.Notification, bool) {
	for f.taken < len(f.notified) {
		i := f.notified[f.taken]
		f.taken++
		s := &f.slots[i]
		if s.buf != nil && s.data[2] >= 0 {
			n := s.data
			s.data = rdmaeng.Pending
			return int(i), n, true
		}
	}
	f.notified, f.taken = f.notified[:0], 0
	return 0, rdmaeng.Notification{}, false
}

// carryOut does what a record asks for.
func (f *Fabric) carryOut(in *inbox, c *cell) {
	kind := c.header[0] >> 32
	if kind == fetchRecord {
		f.fetch(in.from, c)
		return
	}
	body := (*recordBody)(unsafe.Pointer(&c.payload))
	i, s := f.exposed(c.header[1])
	if kind != notifyRecord {
		n := int(body.size)
		bulk := in.bulkNext(&f.job.geo, n)
		off := int(c.header[2])
		if s != nil && off+n <= len(s.buf) {
			copy(s.buf[off:], bulk)
		}
	}
	if s != nil && kind != depositRecord {
		s.data = body.notify
		f.notified = append(f.notified, i)
	}
}

// Start implements rdmaeng.Engine.
func (f *Fabric) Start(t *rdmaeng.Transfer) {
	t.Done = 0
	switch {
	case len(t.Src) == 0:
		t.Stage = stageNotify
	case len(t.Src) <= ringLimit:
		t.Stage = stageRing
	case f.reaches(t.To):
		t.Stage = stageCopy
	default:
		t.Stage = stageRing
	}
}

// Test implements rdmaeng.Engine.
func (f *Fabric) Test(t *rdmaeng.Transfer) (bool, error) {
	if f.job.Dead(t.To) {
		return true, rdmaeng.ErrPeer
	}
	if t.Stage == stageCopy {
		f.copyPiece(t)
		if t.Stage == stageCopy {
			return false, nil
		}
	}
	r := f.job.ringOf(f.me, t.To)
	if t.Stage == stageRing {
		piece := ringPiece
		if f.job.localRings != nil {
			piece = localPiece
		}
		for t.Done < len(t.Src) {
			n := min(piece, len(t.Src)-t.Done)
			kind := uint64(depositRecord)
			if t.Done+n == len(t.Src) {
				kind = depositLast
			}
			if !f.record(r, t, kind, t.Src[t.Done:t.Done+n]) {
				return false, nil
			}
			t.Done += n
		}
		return true, nil
	}
	return f.record(r, t, notifyRecord, nil), nil
}

// copyPiece carries a direct copy on by one piece, and the transfer to its
// next stage when all is copied or the copy is refused.
func (f *Fabric) copyPiece(t *rdmaeng.Transfer) {
	src := t.Src[t.Done:min(t.Done+copyPiece, len(t.Src))]
	n, ok := f.store(t.To, t.Dst.Addr+uint64(t.Done), src)
	t.Done += n
	switch {
	case t.Done == len(t.Src):
		t.Stage = stageNotify
	case !ok:
		t.Stage = stageRing
	}
}

// record puts a record into the ring and reports whether there was room.
func (f *Fabric) record(r ring, t *rdmaeng.Transfer, kind uint64, data []byte) bool {
	g := &f.job.geo
	inline := len(data) == 0
	c, bulk, bulkTail := r.room(g, inline, len(data))
	if c == nil {
		if c, bulk, bulkTail = f.starve(r, t.To, inline, len(data)); c == nil {
			return f.lost(t.To)
		}
	}
	if !r.head.opened {
		f.open(r, t.To)
	}
	copy(bulk, data)
	body := (*recordBody)(unsafe.Pointer(&c.payload))
	body.size, body.notify = uint64(len(data)), t.Notify
	c.header[1], c.header[2] = t.Dst.Notify, uint64(t.Done)
	r.publish(g, c, kind<<32, deviceLength, bulkTail, f.fenced)
	f.ringBell(t.To)
	return true
}

var _ packetizer.Port = (*Fabric)(nil)
var _ rdmaeng.Engine = (*Fabric)(nil)

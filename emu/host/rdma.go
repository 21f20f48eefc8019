package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The RDMA engine of a rank. A transfer goes through the ring in pieces, or
// straight into the other process's memory (or, between ranks of one process,
// the other rank's) with only the notification through the ring. Data with gaps take
// the ring: its pieces are packed as they go in and unpacked as they come out, both in the
// cache, while the other side works on another piece. A window without an address says that
// there are gaps.
const (
	stageNew uint8 = iota
	stageRing
	stageLent // see share.go
	stageOffer
	stageShare
	stageNotify
	stageDone
)

const (
	ringPiece  = 16 << 10 // of a transfer through the ring, at most a quarter of bulk
	localPiece = 8 << 10
)

type engine struct {
	exposures

	peers map[int]*attached // that cross-memory attach reaches

	fetches []*rdmaeng.Transfer // that the agent carries out

	// a part of one has been written since the last poll: the next one leaves those of others to them
	wrote  bool
	shares []share // copies that others have offered; the polling side's, as what is below of them

	// Copies that Borrow has been told of and the next poll takes over: whoever spins
	// looks at the count of them, without the rank's lock.
	borrowed   []share
	borrowings atomic.Uint32
	borrowSeen uint32 // of the polling side
}

// depositRecord and notifyRecord are the records between fabrics. Word 0 keeps
// the kind above the device's 32 bits, word 1 the notify address, word 2 the
// offset into the exposed buffer.
const (
	depositRecord = 1 + iota // a piece of a write
	depositLast              // the last piece, with the notification
	notifyRecord             // a notification alone
	fetchRecord              // a word to this rank's agent, see agent.go
	offerRecord              // of a shared copy, see share.go
)

// recordBody is the part of a record in the cell's payload.
type recordBody struct {
	size   uint64
	notify rdmaeng.Notification
}

// carryOut does what a record asks for.
func (f *Fabric) carryOut(in *inbox, c *cell) {
	kind := c.header[0] >> 32
	switch kind {
	case fetchRecord:
		f.fetch(in.from, c)
		return
	case offerRecord:
		f.offered(in, c)
		return
	}
	body := (*recordBody)(unsafe.Pointer(&c.payload))
	if kind != notifyRecord {
		f.Deposit(c.header[1], in.bulkNext(&f.job.geo, int(body.size)), int(c.header[2]))
	}
	if kind != depositRecord {
		f.Complete(c.header[1], body.notify)
	}
}

// Start implements rdmaeng.Engine.
func (f *Fabric) Start(t *rdmaeng.Transfer) {
	t.Done, t.Shared, t.Unhurried = 0, false, false
	direct := t.View.Type == nil && t.Dst.Addr != 0 && f.Reaches(t.To)
	if t.Stage == stageLent {
		if direct {
			f.begin(t)
			return
		}
		f.Reclaim(t) // nobody borrows for such a destination
	}
	switch n := t.Size(); {
	case n == 0:
		t.Stage = stageNotify
	case n <= DefaultLimit || !direct:
		t.Stage = stageRing
	case t.To == f.me:
		f.write(t.To, t.Dst.Addr, t.Src)
		t.Stage = stageNotify
	default:
		t.Stage = stageOffer
		f.offer(t)
	}
}

// Test implements rdmaeng.Engine.
func (f *Fabric) Test(t *rdmaeng.Transfer) (bool, error) {
	if f.job.Dead(t.To) {
		if t.Stage == stageShare {
			f.retract(t)
		}
		return true, rdmaeng.ErrPeer
	}
	if t.Stage == stageOffer {
		f.offer(t)
	}
	if t.Stage == stageShare {
		f.writeShare(t)
	}
	switch t.Stage {
	case stageOffer, stageShare:
		return false, nil
	case stageDone:
		return true, nil
	}
	r := f.job.ringOf(f.me, t.To)
	if t.Stage == stageRing {
		piece := ringPiece
		if f.job.localRings != nil {
			piece = localPiece
		}
		for size := t.Size(); t.Done < size; {
			n := min(piece, size-t.Done)
			kind := uint64(depositRecord)
			if t.Done+n == size {
				kind = depositLast
			}
			if !f.record(r, t, kind, n) {
				return false, nil
			}
			t.Done += n
		}
		return true, nil
	}
	return f.record(r, t, notifyRecord, 0), nil
}

// within reports whether a rank's memory is that of this process.
func (f *Fabric) within(to int) bool { return f.job.localRings != nil || to == f.me }

// record puts a record with the next n bytes of a transfer into the ring and
// reports whether there was room.
func (f *Fabric) record(r ring, t *rdmaeng.Transfer, kind uint64, n int) bool {
	c, bulk := f.space(r, t.To, n == 0, n)
	if c == nil {
		return f.lost(t.To)
	}
	if t.View.Type == nil {
		copy(bulk, t.Src[t.Done:])
	} else {
		t.View.Pack(bulk, t.Done)
	}
	body := (*recordBody)(unsafe.Pointer(&c.payload))
	body.size, body.notify = uint64(n), t.Notify
	c.header[1], c.header[2] = t.Dst.Notify, uint64(t.Done)
	r.publish(&f.job.geo, c, kind<<32, deviceLength, f.fenced)
	f.Ring(t.To)
	return true
}

// Order implements rdmaeng.Engine: notifications, and offers of shared copies, go through the ring, as messages do.
func (f *Fabric) Order() rdmaeng.Order { return rdmaeng.AllOrder | rdmaeng.Standing }

var _ packetizer.Port = (*Fabric)(nil)
var _ rdmaeng.Lender = (*Fabric)(nil)

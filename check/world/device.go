package world

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// device is what a protocol sends through. It only takes notes: the messages
// and writes move when an Action says so.
type device struct {
	w     *World
	rank  *rank
	slots []slot
	free  []int
	loans []*loan
	full  int // rank+1 whose agent's mailbox has refused a message since there was room
}

// slot is an exposed buffer. The generation is part of the notify address, so
// that a write for an earlier exposure of the slot is recognised.
type slot struct {
	buf   []byte
	gen   uint32
	open  bool
	full  bool // a buffer that stands, with a write that has not been shown
	owner *Request

	watch *rdmaeng.Notification // nil: nobody watches, see silent.go
	was   byte                  // its last byte then
}

// Limit implements packetizer.Port.
func (d *device) Limit() int { return d.w.cfg.Limit }

// TrySend implements packetizer.Port.
func (d *device) TrySend(to int, h packetizer.Header, payload []byte) bool {
	if len(payload) > d.w.cfg.Limit {
		d.w.fail(d.rank.id, "a message of %d B is given to the device, which takes %d", len(payload), d.w.cfg.Limit)
	}
	q := d.w.queue(d.rank.id, to)
	if d.w.ranks[to].dead {
		return true // lost
	}
	if !d.w.room(d.rank.id, to) {
		q.refused = true
		if l := d.w.lesson; l != nil {
			l.refused |= 1 << to
		}
		return false
	}
	d.w.nextID++
	m := message{header: h, id: d.w.nextID}
	m.n = copy(m.payload[:], payload) // not all, if it was too long
	m.sum = m.hash()
	if d.w.keeps(rdmaeng.WritesFirst) {
		m.behind = d.taken(to)
	}
	if l := d.w.lesson; l != nil {
		l.sent = append(l.sent, sent{to, m.state()})
	}
	q.msgs = append(q.msgs, m)
	if d.w.Log != nil {
		d.w.logMessage(Sent, d.rank.id, to, &m)
	}
	return true
}

// Room implements rdmaeng.Limited.
func (d *device) Room(int) error {
	if most := d.w.cfg.Room; most > 0 && len(d.slots)-len(d.free) >= most {
		return rdmaeng.ErrRoom
	}
	return nil
}

// Expose implements rdmaeng.Engine.
func (d *device) Expose(buf []byte) (int, rdmaeng.Window) {
	if d.Room(len(buf)) != nil {
		d.w.fail(d.rank.id, "a buffer is exposed for which there is no room")
	}
	i := len(d.slots)
	if n := len(d.free); n > 0 {
		i = d.free[n-1]
		d.free = d.free[:n-1]
	} else {
		d.slots = append(d.slots, slot{})
	}
	s := &d.slots[i]
	s.buf, s.open, s.full, s.owner = buf, true, false, d.copied(buf)
	for _, q := range d.rank.reqs {
		if len(buf) > 0 && len(q.r.Buf) > 0 && &q.r.Buf[0] == &buf[0] {
			s.owner = q
		}
	}
	return i, rdmaeng.Window{Addr: uint64(d.rank.id)<<32 | uint64(i), Notify: uint64(i) | uint64(s.gen)<<32}
}

// ExposeView implements rdmaeng.Engine. The programs of a world have contiguous
// buffers: to a protocol a layout makes no difference.
func (d *device) ExposeView(datatype.View) (int, rdmaeng.Window) {
	d.w.fail(d.rank.id, "a buffer with gaps")
	return 0, rdmaeng.Window{}
}

// Withdraw implements rdmaeng.Engine.
func (d *device) Withdraw(i int) {
	s := &d.slots[i]
	if !s.open {
		d.w.fail(d.rank.id, "slot %d is withdrawn twice", i)
		return
	}
	s.open, s.buf, s.watch = false, nil, nil
	s.gen++
	d.free = append(d.free, i)
}

// Start implements rdmaeng.Engine.
func (d *device) Start(t *rdmaeng.Transfer) {
	v := d.start(t, d.rank.id)
	v.req, v.loan = d.sender(t), d.lent(t)
	t.Shared = v.loan != nil
	d.began(v, len(t.Src))
}

func (d *device) start(t *rdmaeng.Transfer, from int) *write {
	d.w.nextID++
	v := &write{t: t, from: from, to: t.To, id: d.w.nextID, index: len(d.rank.writes)}
	t.Done = 0
	if q := d.w.queue(from, t.To); d.w.cfg.Standing {
		v.behind = q.delivered + len(q.msgs)
		d.w.looks()
	}
	d.rank.writes = append(d.rank.writes, v)
	return v
}

func (d *device) began(v *write, size int) {
	if d.w.Log != nil {
		d.w.log(Event{Kind: Started, Rank: v.from, Peer: v.to, ID: v.id, Size: size, Agent: v.agent && v.loan == nil,
			Reader: v.agent && v.loan != nil, Notice: v.t.Notify})
	}
}

// Test implements rdmaeng.Engine: it is true once the Finish action has been
// chosen.
func (d *device) Test(t *rdmaeng.Transfer) (bool, error) {
	for i := len(d.rank.writes) - 1; i >= 0; i-- {
		if v := d.rank.writes[i]; v.t == t {
			if v.finished && v.pieces > 0 {
				t.Done = len(t.Src)
			}
			if v.finished && v.loan != nil {
				v.loan.over, t.Shared = true, false
			}
			if v.finished { // the caller may use it again
				own := *t
				v.t = &own
			}
			if v.finished && d.w.ranks[v.to].dead && !v.all {
				return true, rdmaeng.ErrPeer
			}
			return v.finished, nil
		}
	}
	d.w.fail(d.rank.id, "a transfer that was not started is tested")
	return true, nil
}

// Notified implements rdmaeng.Engine. The world hands notifications to the
// protocol itself; a protocol that looks for them on its own finds all that
// have landed.
func (d *device) Notified() (int, rdmaeng.Notification, bool) {
	for _, r := range d.w.ranks {
		for _, v := range r.writes {
			if v.to == d.rank.id && d.w.noticeable(v) {
				d.w.looks()
				return d.w.notice(v)
			}
		}
	}
	return 0, rdmaeng.Notification{}, false
}

// Order implements rdmaeng.Engine.
func (d *device) Order() rdmaeng.Order {
	switch {
	case d.w.cfg.Standing && d.w.cfg.Order == 0:
		return rdmaeng.AllOrder | rdmaeng.Standing
	case d.w.cfg.Order == 0:
		return rdmaeng.AllOrder
	}
	return d.w.cfg.Order
}

// Offer implements rdmaeng.Reader.
func (d *device) Offer(buf []byte) (int, rdmaeng.Window) { return d.Expose(buf) }

// OfferView implements rdmaeng.Reader.
func (d *device) OfferView(v datatype.View) (int, rdmaeng.Window) { return d.ExposeView(v) }

// Fetch implements rdmaeng.Reader. The agent's write is this rank's, with
// another rank's memory as its source. Its mailbox holds what it has not done yet.
func (d *device) Fetch(from int, src, dst rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	if !d.agentRoom(from) {
		d.full = from + 1
		return false
	}
	d.w.looks()
	t := &rdmaeng.Transfer{To: d.rank.id, Dst: dst, Notify: n}
	v := d.start(t, from)
	v.agent, v.finished, v.offered = true, true, src
	if _, s := d.w.ranks[from].dev.at(src.Notify); s != nil && size <= len(s.buf) {
		t.Src, v.req = s.buf[:size], s.owner
	}
	d.rank.give(mix(uint64(len(t.Src))<<1 | bit(v.req == nil)))
	if v.req != nil {
		d.rank.give(uint64(v.req.send))
	}
	d.began(v, size)
	return true
}

// asked is how many of this rank's writes the agent of a rank has not done yet.
func (d *device) asked(from int) (n int) {
	for _, v := range d.rank.writes {
		if v.agent && v.from == from && !v.all {
			n++
		}
	}
	return n
}

func (d *device) agentRoom(from int) bool {
	return d.w.cfg.Capacity == 0 || d.asked(from) < d.w.cfg.Capacity
}

// at returns the slot of a notify address, nil if it does not stand any more.
func (d *device) at(notify uint64) (int, *slot) {
	i := int(uint32(notify))
	if i >= len(d.slots) {
		return i, nil
	}
	s := &d.slots[i]
	if !s.open || s.gen != uint32(notify>>32) {
		return i, nil
	}
	return i, s
}

// target returns the slot that a write aims at, nil if it does not stand any
// more.
func (v *write) target(w *World) (int, *slot) { return w.ranks[v.to].dev.at(v.t.Dst.Notify) }

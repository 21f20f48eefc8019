package sim

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// slot is an exposed buffer, or one that is offered to the R5. Its generation is part
// of the address, so that a write for an earlier use of the slot is recognised.
type slot struct {
	view datatype.View
	gen  uint32
	open bool

	watched bool // its last byte, which was that
	was     byte
	seen    rdmaeng.Notification // once it is another
}

// note is a notification that is on its way, or there.
type note struct {
	at   Time
	slot uint64
	data rdmaeng.Notification
	from int32
	id   int32
}

func (e *Endpoint) slot(address uint64) *slot {
	if i := uint32(address); int(i) < len(e.slots) {
		if b := &e.slots[i]; b.open && b.gen == uint32(address>>32) {
			return b
		}
	}
	return nil
}

// Expose implements rdmaeng.Engine.
func (e *Endpoint) Expose(buf []byte) (int, rdmaeng.Window) { return e.ExposeView(datatype.Bytes(buf)) }

// ExposeView implements rdmaeng.Engine.
func (e *Endpoint) ExposeView(v datatype.View) (int, rdmaeng.Window) {
	e.charge()
	e.spend(e.s.model.expose)
	var i int32
	if n := len(e.free); n > 0 {
		i = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		i = int32(len(e.slots))
		e.slots = append(e.slots, slot{})
	}
	b := &e.slots[i]
	b.view, b.open = v, true
	b.gen++
	address := uint64(b.gen)<<32 | uint64(i)
	return int(i), rdmaeng.Window{Addr: address, Notify: address}
}

// Withdraw implements rdmaeng.Engine.
func (e *Endpoint) Withdraw(slot int) {
	b := &e.slots[slot]
	b.view, b.open, b.watched = datatype.View{}, false, false
	e.free = append(e.free, int32(slot))
}

// gaps is how many bytes of a view the processor moves, since the engine reads and
// writes contiguous memory only.
func gaps(v datatype.View, n int) int {
	if _, even := v.Contiguous(); even {
		return 0
	}
	return n
}

// Start implements rdmaeng.Engine.
func (e *Endpoint) Start(t *rdmaeng.Transfer) {
	e.charge()
	src := t.Source()
	e.spend(e.s.model.start + Time(e.s.model.copyByte*float64(gaps(src, t.Size()))))
	t.Slot = e.s.newWrite(write{from: int32(e.rank), to: int32(t.To), src: src, dst: t.Dst.Notify, size: t.Size(),
		notify: t.Notify, silent: t.Silent})
	t.Shared, t.Unhurried = true, true // the engine goes on by itself
	e.s.agenda.push(e.clock, begin, t.Slot, 0)
}

// Test implements rdmaeng.Engine.
func (e *Endpoint) Test(t *rdmaeng.Transfer) (done bool, err error) {
	e.charge()
	e.spend(e.s.model.test)
	e.catchUp()
	w := &e.s.writes[t.Slot]
	if !w.ended || w.at > e.clock {
		return false, nil
	}
	if w.lost {
		err = rdmaeng.ErrPeer
	}
	for i, at := range e.ends {
		if at == w.at {
			e.ends[i] = e.ends[len(e.ends)-1]
			e.ends = e.ends[:len(e.ends)-1]
			break
		}
	}
	t.Done = w.size
	e.s.freeWrite(t.Slot)
	return true, err
}

// notice puts a notification where the rank will find it.
func (e *Endpoint) notice(n note) {
	i := len(e.notes)
	for i > 0 && e.notes[i-1].at > n.at {
		i--
	}
	e.notes = append(e.notes, note{})
	copy(e.notes[i+1:], e.notes[i:])
	e.notes[i] = n
	e.ready(n.at)
}

// Order implements rdmaeng.Engine: the writer learns that a write has ended from beyond the receiver's memory, and the
// data of a write are in their places at one moment. Of the prototype itself the second is not known.
func (e *Endpoint) Order() rdmaeng.Order { return rdmaeng.AllOrder | rdmaeng.LastByteLast }

// Watch implements rdmaeng.Watcher.
func (e *Endpoint) Watch(slot int, n rdmaeng.Notification) {
	b := &e.slots[slot]
	b.watched, b.was, b.seen = true, b.last(), n
}

// Unwatch implements rdmaeng.Watcher.
func (e *Endpoint) Unwatch(slot int) { e.slots[slot].watched = false }

// last is the last byte of a contiguous buffer.
func (b *slot) last() byte {
	flat, _ := b.view.Contiguous()
	return flat[len(flat)-1]
}

// Notified implements rdmaeng.Engine.
func (e *Endpoint) Notified() (int, rdmaeng.Notification, bool) {
	e.charge()
	e.catchUp()
	for len(e.notes) > 0 && e.notes[0].at <= e.clock {
		n := e.notes[0]
		e.notes = e.notes[:copy(e.notes, e.notes[1:])]
		b := e.slot(n.slot)
		if b == nil {
			continue // withdrawn
		}
		e.spend(e.s.model.notice + Time(e.s.model.copyByte*float64(gaps(b.view, min(n.data.Size(), b.view.Size())))))
		e.s.totals.Notices++
		e.s.note(Event{At: e.clock, Kind: Noticed, From: n.from, To: int32(e.rank), Notify: n.data,
			Bytes: n.data.Size(), ID: uint32(n.id)})
		return int(uint32(n.slot)), n.data, true
	}
	return 0, rdmaeng.Notification{}, false
}

// Offer implements rdmaeng.Reader.
func (e *Endpoint) Offer(buf []byte) (int, rdmaeng.Window) { return e.Expose(buf) }

// OfferView implements rdmaeng.Reader.
func (e *Endpoint) OfferView(v datatype.View) (int, rdmaeng.Window) { return e.ExposeView(v) }

// Fetch implements rdmaeng.Reader: a CTS to the R5 beside the sender (thesis 2.6).
func (e *Endpoint) Fetch(from int, src, dst rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	e.charge()
	s := e.s
	e.spend(s.model.enqueue)
	x := &s.ends[from]
	if x.gone {
		s.totals.Lost++
		return true
	}
	if x.asked >= s.model.depth {
		e.starve(x)
		return false
	}
	x.asked++
	w := s.newWrite(write{from: int32(from), to: int32(e.rank), offered: src.Notify, agent: true, dst: dst.Notify,
		size: size, notify: n})
	i := s.newMessage()
	m := &s.messages[i]
	m.header, m.n, m.from, m.to, m.fetch = packetizer.Header{}, 0, int32(e.rank), int32(from), w
	s.totals.Sent++
	s.note(Event{At: e.clock, Kind: Fetching, From: m.from, To: m.to, Bytes: size, ID: uint32(i)})
	s.agenda.push(e.clock, depart, i, 0)
	return true
}

var (
	_ rdmaeng.Reader  = (*Endpoint)(nil)
	_ rdmaeng.Watcher = (*Endpoint)(nil)
)

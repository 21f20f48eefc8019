package sim

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// piece is how many bytes of a write an engine sends before it looks at others: a
// message that meets a write on a link waits for no more.
const piece = 1 << 10

// noteSize is what the notification adds to a write on the links, in bytes.
const noteSize = 16

// write is one of an RDMA engine, given to it by the rank or by the R5.
type write struct {
	from, to int32 // ranks
	src      datatype.View
	offered  uint64 // by the R5: the slot that it reads, at rank from
	agent    bool
	dst      uint64 // the slot that it writes, at rank to
	size     int
	sent     int
	notify   rdmaeng.Notification
	silent   bool // without that

	ended bool // the writer may know
	lost  bool // the receiver has died
	at    Time // from when on
	next  int32
}

func (s *Sim) newWrite(w write) int32 {
	i := s.freeWr
	if i == none {
		s.writes = append(s.writes, w)
		return int32(len(s.writes) - 1)
	}
	s.freeWr = s.writes[i].next
	s.writes[i] = w
	return i
}

func (s *Sim) freeWrite(i int32) {
	s.writes[i] = write{next: s.freeWr}
	s.freeWr = i
}

// begin gives a write to the engine beside its writer.
func (s *Sim) begin(i int32) {
	w := &s.writes[i]
	if w.agent {
		b := s.ends[w.from].slot(w.offered)
		if b == nil || b.view.Size() != w.size {
			s.freeWrite(i) // the send has ended meanwhile: its rank failed it
			return
		}
		w.src = b.view
	}
	s.totals.Writes++
	s.totals.Bytes += uint64(w.size)
	s.note(Event{At: s.now, Kind: Writing, From: w.from, To: w.to, Notify: w.notify, Bytes: w.size, ID: uint32(i)})
	e := &s.engines[s.place[w.from]]
	at := e.reserve(s.now, s.now, s.model.writeStart) + s.model.writeStart + s.model.writeLatency
	s.agenda.push(at, chunk, i, 0)
}

// chunk sends the next piece of a write. The engine serves several writes in turn, and
// sends no faster than the slowest link on the way takes it.
func (s *Sim) chunk(i int32) {
	w := &s.writes[i]
	from, to := s.place[w.from], s.place[w.to]
	n := min(piece, w.size-w.sent)
	took := Time(s.model.writeByte*float64(n) + 0.5)
	start := s.engines[from].reserve(s.now, s.now, took)
	w.sent += n
	last := w.sent == w.size
	onWire := n
	if last && !w.silent {
		onWire += noteSize
	}
	there, free, waited := s.travel(from, to, start, onWire, false)
	there = max(there, start+took)
	if !last {
		s.agenda.push(max(start+took, free+waited, s.now), chunk, i, 0)
		return
	}
	s.deposit(i, there)
}

// deposit puts the data of a write, the last of which arrive at a time, in their
// place, and notifies both ends. The receiver does not look before it is notified, and
// the writer leaves its memory alone until then.
func (s *Sim) deposit(i int32, there Time) {
	w := &s.writes[i]
	x := &s.ends[w.to]
	w.lost = x.gone
	if b := x.slot(w.dst); b == nil || w.lost {
		s.totals.Stale++
	} else {
		if n := min(w.size, b.view.Size()); n > 0 {
			move(b.view, w.src, n, &s.ends[w.from].scratch)
		}
		s.totals.Written += uint64(w.size)
		n := note{at: there + s.model.notify, slot: w.dst, data: w.notify, from: w.from, id: i}
		if w.silent {
			n.at, n.data = there, b.seen
		}
		if !w.silent || b.watched && b.last() != b.was {
			x.notice(n)
		}
	}
	if w.agent {
		s.freeWrite(i)
		return
	}
	w.at = there + s.back(s.place[w.from], s.place[w.to])
	w.ended = true
	y := &s.ends[w.from]
	y.ends = append(y.ends, w.at)
	y.ready(w.at)
}

// move copies the first n bytes of a view to another.
func move(to, from datatype.View, n int, scratch *[]byte) {
	in, flat := from.Contiguous()
	out, even := to.Contiguous()
	switch {
	case flat && even:
		copy(out[:n], in[:n])
	case flat:
		to.Unpack(in[:n], 0)
	case even:
		from.Pack(out[:n], 0)
	default:
		if cap(*scratch) < n {
			*scratch = make([]byte, n)
		}
		b := (*scratch)[:n]
		from.Pack(b, 0)
		to.Unpack(b, 0)
	}
}

package net

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The RDMA engine. Exposed buffers are those of emu/host: a window tells both a rank of this host and one elsewhere
// where to write. A write to another host is pieces, each a frame. Nothing else is sent to that rank while a
// piece is under way, for which the source is lent to the link.
//
// The kernel copies the source. To send its pages themselves (vmsplice, MSG_ZEROCOPY) makes a ping-pong quicker whose
// source nobody writes, where the cores of the ends share no cache. But a source that has been read from there must be
// fetched back when the program writes it next, which takes longer than the copy has; transforms (FFTW) get slower.

// Start implements rdmaeng.Engine.
func (f *Fabric) Start(t *rdmaeng.Transfer) {
	l := f.links[t.To]
	if l == nil {
		f.Fabric.Start(t)
		return
	}
	t.Done, t.Shared, t.Unhurried, t.Stage = 0, false, false, 0
	l.push(t)
}

// The stages of a write.
const (
	going  uint8 = iota
	handed       // all of it has been given to the link
)

// Test implements rdmaeng.Engine.
func (f *Fabric) Test(t *rdmaeng.Transfer) (bool, error) {
	l := f.links[t.To]
	if l == nil {
		return f.Fabric.Test(t)
	}
	if f.Dead(t.To) {
		f.Miss() // its death may be known from another rank of this host
		if l.owner == t {
			l.rest, l.owner = nil, nil
		}
		return true, rdmaeng.ErrPeer
	}
	return l.push(t), nil
}

// push carries a write on and reports whether its source may be reused.
func (l *link) push(t *rdmaeng.Transfer) bool {
	for {
		l.flush()
		switch {
		case t.Stage == handed && l.owner != t:
			return true
		case l.pending():
			return false
		}
		l.piece(t)
	}
}

// piece sends the next piece of a write. Nothing else waits to be sent.
func (l *link) piece(t *rdmaeng.Transfer) {
	most := pieceMost
	if t.View.Type != nil {
		most = packMost
	}
	n := min(most, t.Size()-t.Done)
	f := frame{kind: piece, size: uint32(n), word: packetizer.Header{t.Dst.Notify, uint64(t.Done), 0}, note: t.Notify}
	if t.Done+n == t.Size() {
		f.word[2], t.Stage = 1, handed
	}
	f.encode(l.head[:])
	if t.View.Type != nil { // the link's own copy, without the gaps
		l.out = append(l.out[:0], l.head[:]...)
		l.out = append(l.out, make([]byte, n)...)
		t.View.Pack(l.out[headerSize:], t.Done)
		t.Done += n
		l.sent = 0
		l.flush()
		return
	}
	data := t.Src[t.Done:][:n]
	t.Done += n
	sent := l.write(l.head[:], data)
	if sent < headerSize {
		l.out, l.sent = append(l.out[:0], l.head[sent:]...), 0
		sent = headerSize
	}
	if l.rest = data[sent-headerSize:]; len(l.rest) > 0 {
		l.owner = t
	}
	l.want()
}

// Order implements rdmaeng.Engine: all that goes to a rank goes through one ring or one connection.
func (f *Fabric) Order() rdmaeng.Order { return rdmaeng.AllOrder | rdmaeng.Standing }

// Lend implements rdmaeng.Lender: nobody elsewhere reads this rank's memory.
func (f *Fabric) Lend(t *rdmaeng.Transfer) (rdmaeng.Window, bool) {
	if f.links[t.To] != nil {
		return rdmaeng.Window{}, false
	}
	return f.Fabric.Lend(t)
}

// Fetch implements rdmaeng.Reader.
func (f *Fabric) Fetch(from int, src, dst rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	l := f.links[from]
	if l == nil {
		return f.Fabric.Fetch(from, src, dst, size, n)
	}
	words := packetizer.Header{src.Notify, dst.Addr, dst.Notify}
	return l.send(&frame{kind: fetch, word: words, note: n}, binary.LittleEndian.AppendUint64(nil, uint64(size)))
}

// fetch takes a word to the agent of the read-based baseline, which is this rank when it polls.
func (f *Fabric) fetch(from int, w *frame, size int) {
	buf, view, ok := f.Exposed(w.word[0])
	t := &rdmaeng.Transfer{To: from, Src: buf, View: view, Dst: rdmaeng.Window{Addr: w.word[1], Notify: w.word[2]},
		Notify: w.note}
	if !ok || t.Size() != size {
		return // the send has ended meanwhile: its rank failed it
	}
	f.Start(t)
	f.fetches = append(f.fetches, t)
}

// runAgent carries the agent's writes on.
func (f *Fabric) runAgent() {
	f.fetches = rdmaeng.CarryOn(f, f.fetches)
}

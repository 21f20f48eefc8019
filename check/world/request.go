package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// guardSize is how many bytes on each side of a receive buffer must never
// change, and guardByte what they hold.
const (
	guardSize = 8
	guardByte = 0xEE
)

// Request is a send or receive that a rank has posted.
type Request struct {
	Op   Op
	Rank int
	ID   int // in the order of posting of the rank

	// Moments in the rank's own time; 0: not yet.
	DoneAt, CancelledAt int

	doneBefore uint64 // which requests of the rank had completed when the cancelling was asked for

	r      variants.Request
	memory []byte // of a receive: the buffer between its guards
	before []byte // what it held when it was posted
	sum    uint64 // of memory, at completion
	status variants.Status
	err    error
	gen    uint32            // of the communicator
	held   *variants.Message // extracted, to be received by Take
	fast   bool              // a receive that the protocol does not know of
	send   int               // of a send: its number among those of its rank
	got    *Request
}

// Done reports whether the request has completed.
func (q *Request) Done() bool { return q.r.Done }

// Held reports whether the message of a matched probe has not been received yet.
func (q *Request) Held() bool { return q.held != nil }

// Status returns what a completed receive tells, and its error.
func (q *Request) Status() (variants.Status, error) { return q.r.Status, q.r.Err }

// Cancelled reports whether the request was taken back.
func (q *Request) Cancelled() bool { return q.r.Done && q.r.Status.Cancelled }

// pattern is byte i of the message of send q.
func (q *Request) pattern(i int) byte {
	b := byte(1 + (q.Rank*61+q.send*7+i*3)%229)
	return b
}

// request makes a request of a rank, and the buffer if it is a receive.
func (r *rank) request(o Op) *Request {
	q := &Request{Op: o, Rank: r.id, ID: len(r.reqs), gen: r.ctx[o.Comm].Gen}
	q.r.Reset()
	q.r.Ctx, q.r.Peer, q.r.Tag = r.ctx[o.Comm], int32(o.Peer), o.Tag
	r.reqs = append(r.reqs, q)
	if o.Kind == Recv {
		n := o.Size + 2*guardSize
		both := bytes.Repeat([]byte{guardByte}, 2*n)
		q.memory, q.before = both[:n:n], both[n:]
		if r.w.cfg.Same && o.Size > 0 {
			first := Request{Rank: 1 - r.id}
			q.memory[guardSize+o.Size-1] = first.pattern(o.Size - 1)
		}
		copy(q.before, q.memory)
		q.r.Recv = true
		q.r.Home = uint64(o.Size) // a protocol that asks takes those of one size for one buffer
		q.r.Buf = q.memory[guardSize : guardSize+o.Size : guardSize+o.Size]
	}
	return q
}

// extract makes a request for the message that a matched probe finds. In MPI's
// rule it is a receive that was posted now. It returns nil if there is none.
func (r *rank) extract(o Op) *Request {
	m, found, err := r.proto.Extract(r.ctx[o.Comm], int32(o.Peer), o.Tag)
	if err != nil && !r.told {
		r.w.fail(r.id, "a matched probe returns an error: %v", err)
	}
	if !found {
		if r.w.Log != nil {
			r.w.log(Event{Kind: Probed, Rank: r.id, Op: o})
		}
		return nil
	}
	return r.extracted(o, m)
}

// extracted makes a request for a message that a matched probe has found.
func (r *rank) extracted(o Op, m *variants.Message) *Request {
	o.Kind, o.Matched = Recv, true
	q := r.request(o)
	q.held = m
	r.posted(q)
	return q
}

// take receives what extract has found.
func (r *rank) take(q *Request) {
	m := q.held
	q.held = nil
	if r.w.Log != nil {
		r.w.log(Event{Kind: Taken, Rank: r.id, Request: q})
	}
	r.proto.PostMatched(&q.r, m)
}

// renew opens the next generation of a communicator that has been closed.
func (r *rank) renew(comm int) {
	was := r.ctx[comm]
	r.ctx[comm] = &variants.Context{ID: was.ID, Gen: was.Gen + 1, Rank: was.Rank}
	r.proto.Open(r.ctx[comm])
}

// idle reports whether a rank has nothing left to do in a communicator, and can
// free it.
func (r *rank) idle(comm int) bool {
	for _, q := range r.reqs {
		if q.Op.Comm == comm && !q.r.Done {
			return false
		}
	}
	return r.ctx[comm].Active == 0 // of what has left a copy
}

// newSend makes a send and its message.
func (r *rank) newSend(o Op) *Request {
	q := r.request(o)
	q.send = r.sends
	r.sends++
	q.r.Buf = make([]byte, o.Size)
	for i := range q.r.Buf {
		q.r.Buf[i] = q.pattern(i)
	}
	return q
}

// post posts a send or receive.
func (r *rank) post(o Op) *Request {
	if o.Kind == Recv {
		q := r.request(o)
		r.posted(q)
		r.used(q)
		r.proto.PostRecv(&q.r)
		return q
	}
	q := r.newSend(o)
	r.used(q)
	r.posted(q)
	if o.Sync {
		q.r.Mode = variants.Synchronous
	} else if r.proto.TrySend(r.ctx[o.Comm], q.r.Peer, q.r.Tag, q.r.Buf) {
		q.r.Done = true
		return q
	} else if o.Size > r.w.cfg.Limit && r.proto.Full(r.ctx[o.Comm], q.r.Peer, o.Size) {
		r.w.fail(r.id, "%s may go soon, says the protocol, but it is too long for the device", r.w.Name(q))
	}
	r.proto.PostSend(&q.r)
	return q
}

func (r *rank) posted(q *Request) {
	if r.w.Log != nil {
		r.w.log(Event{Kind: Posted, Rank: r.id, Request: q, Op: q.Op})
	}
}

// settle looks at the requests of a rank after it has been given an input, or
// after something was written into its memory.
func (r *rank) settle() {
	r.taking = 0
	if n := r.proto.Needs(); n != 0 {
		r.proto.Wake(n, func(world int) {
			if world < 0 || world >= len(r.w.ranks) {
				r.w.fail(r.id, "rank %d is to be woken, which does not exist", world)
			}
		})
		if r.proto.Needs()&variants.NeedsWake != 0 {
			r.w.fail(r.id, "ranks that have been woken are to be woken again")
		}
	}
	for _, q := range r.reqs {
		switch {
		case q.r.Done && q.DoneAt == 0:
			q.DoneAt = r.moment
			if !q.fast {
				r.used(q)
			}
			r.complete(q)
		case q.DoneAt != 0:
			r.unchanged(q)
		case q.Op.Kind == Recv:
			r.guards(q)
		}
	}
	r.w.synchronous()
}

// complete checks a request that has just completed.
func (r *rank) complete(q *Request) {
	q.status, q.err = q.r.Status, q.r.Err
	if r.w.Log != nil {
		r.w.log(Event{Kind: Completed, Rank: r.id, Request: q, Status: q.status, Err: q.err})
	}
	w := r.w
	if q.status.Cancelled && q.CancelledAt == 0 {
		w.fail(r.id, "%s has the status cancelled, but nobody asked for that", w.Name(q))
	}
	if q.Op.Kind == Send {
		if q.err != nil && !w.excused(q) {
			w.fail(r.id, "%s ends with an error: %v", w.Name(q), q.err)
		}
		// The program may now use the buffer for something else.
		for i := range q.r.Buf {
			q.r.Buf[i] = ^q.r.Buf[i]
		}
		return
	}
	q.sum = checksum(q.memory)
	r.guards(q)
	if q.status.Cancelled {
		if !bytes.Equal(q.memory, q.before) {
			w.fail(r.id, "%s was cancelled, yet its buffer was written", w.Name(q))
		}
		return
	}
	if q.err == nil || errors.Is(q.err, variants.ErrTruncate) || w.noRoom(q) || !w.excused(q) {
		r.received(q)
	}
}

// received checks the status and the contents of a receive.
func (r *rank) received(q *Request) {
	w, st := r.w, q.status
	if !fits(q.Op, Op{Comm: q.Op.Comm, Tag: st.Tag}, int(st.Source)) || st.Source < 0 || int(st.Source) >= w.cfg.Ranks {
		w.fail(r.id, "%s completes with source %d and tag %d", w.Name(q), st.Source, st.Tag)
		return
	}
	truncated, noRoom := st.Size > q.Op.Size, w.noRoom(q)
	if truncated != errors.Is(q.err, variants.ErrTruncate) || !truncated && q.err != nil && !noRoom {
		w.fail(r.id, "%s of %d B got %d B and ends with the error %v", w.Name(q), q.Op.Size, st.Size, q.err)
		return
	}
	known := false
	for _, s := range w.ranks[st.Source].reqs {
		if s.Op.Kind != Send || s.gen != q.gen || s.Op.Peer != r.id || s.Op.Comm != q.Op.Comm || s.Op.Tag != st.Tag ||
			s.Op.Size != st.Size {
			continue
		}
		known = true
		if q.err == nil && s.Op.Size > 0 && q.holds(s) {
			q.got = s
			break
		}
	}
	switch {
	case !known:
		w.fail(r.id, "%s completes with %d B of tag %d from rank %d, which nobody sent", w.Name(q), st.Size, st.Tag,
			st.Source)
	case q.err == nil && st.Size > 0 && q.got == nil:
		w.fail(r.id, "%s has completed, but its buffer does not hold the message of its status%s", w.Name(q),
			r.guess(q))
	case truncated && !bytes.Equal(q.memory, q.before):
		w.fail(r.id, "%s was too short for its message, yet its buffer was written", w.Name(q))
	case noRoom && !bytes.Equal(q.memory, q.before):
		w.fail(r.id, "%s found no room, yet its buffer was written", w.Name(q))
	}
}

// noRoom reports whether a long receive has ended because its buffer could not be exposed.
func (w *World) noRoom(q *Request) bool {
	return w.cfg.Room > 0 && q.Op.Size > w.cfg.Limit && errors.Is(q.err, rdmaeng.ErrRoom)
}

// holds reports whether the buffer of receive q holds the message of s, and
// nothing behind it.
func (q *Request) holds(s *Request) bool {
	n := guardSize + s.Op.Size
	return s.holdsAt(q.memory[guardSize:]) && bytes.Equal(q.memory[n:], q.before[n:])
}

// guess says which message the buffer of a receive begins with.
func (r *rank) guess(q *Request) string {
	b := q.memory[guardSize : guardSize+q.Op.Size]
	if len(b) > 0 && b[0] == guardByte {
		return ": nothing has been written"
	}
	for _, p := range r.w.ranks {
		for _, s := range p.reqs {
			if s.Op.Kind == Send && s.Op.Size > 0 && len(b) > 0 && b[0] == s.pattern(0) {
				return ": it begins like " + r.w.Name(s)
			}
		}
	}
	return ""
}

// guards checks the memory around the buffer of a receive.
func (r *rank) guards(q *Request) {
	if !allGuard(q.memory[:guardSize]) || !allGuard(q.memory[guardSize+q.Op.Size:]) {
		r.w.fail(r.id, "memory beside the buffer of %s is written", r.w.Name(q))
	}
}

// unchanged checks a request that has completed earlier.
func (r *rank) unchanged(q *Request) {
	switch {
	case !q.r.Done || q.r.Status != q.status || q.r.Err != q.err:
		r.w.fail(r.id, "%s completes a second time", r.w.Name(q))
	case q.Op.Kind == Recv && checksum(q.memory) != q.sum:
		r.w.fail(r.id, "the buffer of %s is written after its completion", r.w.Name(q))
	}
}

// takes reports whether a receive takes the message of a send.
func (q *Request) takes(s *Request) bool { return q.gen == s.gen && fits(q.Op, s.Op, s.Rank) }

// fits reports whether a receive or probe takes the message of a send of a rank.
func fits(o, send Op, source int) bool {
	return o.Comm == send.Comm && (o.Peer == int(variants.AnySource) || o.Peer == source) &&
		(o.Tag == variants.AnyTag || o.Tag == send.Tag)
}

func allGuard(b []byte) bool { return bytes.Count(b, []byte{guardByte}) == len(b) }

func checksum(b []byte) uint64 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(b))*0x9e3779b97f4a7c15, 29)
	}
	for _, x := range b {
		h = (h ^ uint64(x)) * 0x9e3779b97f4a7c15
	}
	return mix(h)
}

// synchronous checks that every synchronous send that has completed has, or can
// have, a receive of its own that has been posted (thesis 3.10).
func (w *World) synchronous() {
	for _, r := range w.ranks {
		for _, s := range r.reqs {
			if s.Op.Sync && s.DoneAt != 0 && s.err == nil && !s.status.Cancelled {
				w.assign(s.Op.Peer)
			}
		}
	}
}

// assign looks for an assignment of receives of a rank to the synchronous sends
// to it that have completed.
func (w *World) assign(to int) {
	var sends []*Request
	var recvs []*Request
	taken := make(map[*Request]bool)
	for _, q := range w.ranks[to].reqs {
		if q.Op.Kind == Recv && !q.Cancelled() {
			if q.got != nil {
				taken[q.got] = true
			} else {
				recvs = append(recvs, q)
			}
		}
	}
	for _, r := range w.ranks {
		for _, s := range r.reqs {
			if s.Op.Kind == Send && s.Op.Peer == to && s.Op.Sync && s.DoneAt != 0 && s.err == nil &&
				!s.status.Cancelled && !taken[s] {
				sends = append(sends, s)
			}
		}
	}
	partner := make(map[*Request]*Request) // by receive
	for _, s := range sends {
		if !augment(s, recvs, partner, make(map[*Request]bool)) {
			w.fail(s.Rank, "%s, which is synchronous, has completed, but no receive is posted for it", w.Name(s))
			return
		}
	}
}

// augment gives send s a receive, moving others to other receives if need be.
func augment(s *Request, recvs []*Request, partner map[*Request]*Request, seen map[*Request]bool) bool {
	for _, q := range recvs {
		if seen[q] || !q.takes(s) {
			continue
		}
		seen[q] = true
		if partner[q] == nil || augment(partner[q], recvs, partner, seen) {
			partner[q] = s
			return true
		}
	}
	return false
}

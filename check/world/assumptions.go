package world

import (
	"errors"

	"github.com/exanet-mpi/exanet/optimistic"
)

// Programs that break the assumption of package optimistic: that short sends
// match short receives, and long ones long ones.
//
// Without wildcards and without cancelling the n-th send of a communicator,
// source, destination and tag belongs to the n-th receive. In the end every such
// pair must have completed: if it fits, as in MPI unless another pair
// does not; if it does not, the receive with the error, and the send as well if it
// is one that its receive completes, a long or a synchronous one. Whatever has no
// counterpart may wait, and nobody may end with the error where every pair fits.

// doubter is a protocol that asks when a rank has waited for long.
type doubter interface{ Doubt() }

// doubts reports whether a rank may ask: it waits for something, and has been
// given something since it asked last.
func (r *rank) doubts() bool {
	if !r.w.cfg.Doubts || r.doubted == r.moment {
		return false
	}
	for _, q := range r.reqs {
		if !q.r.Done {
			_, ok := r.proto.(doubter)
			return ok
		}
	}
	return false
}

// channelPosition is the number of a request among those of its communicator, peer,
// tag and direction.
func (w *World) channelPosition(q *Request) (n int) {
	for _, o := range w.ranks[q.Rank].reqs {
		if o == q {
			break
		}
		if o.Op.Kind == q.Op.Kind && o.Op.Comm == q.Op.Comm && o.Op.Peer == q.Op.Peer && o.Op.Tag == q.Op.Tag {
			n++
		}
	}
	return n
}

// counterpart returns the request that belongs to another by MPI's rule, nil if
// it has not been posted.
func (w *World) counterpart(q *Request) *Request {
	at := w.channelPosition(q)
	for _, o := range w.ranks[q.Op.Peer].reqs {
		if o.Op.Kind != q.Op.Kind && o.Op.Peer == q.Rank && o.Op.Comm == q.Op.Comm && o.Op.Tag == q.Op.Tag {
			if at--; at < 0 {
				return o
			}
		}
	}
	return nil
}

func (w *World) eager(o Op) bool { return o.Size <= w.cfg.Limit }

// mismatched reports whether a request has ended with the error, and some pair of
// its communicator, peer and tag does not fit: a message that belongs to one
// receive may have met the next.
func (w *World) mismatched(q *Request) bool {
	if !errors.Is(q.err, optimistic.ErrAssumption) {
		return false
	}
	if w.cancels() {
		return true
	}
	for _, l := range w.ranks[q.Rank].reqs {
		if l.Op.Kind != q.Op.Kind || l.Op.Comm != q.Op.Comm || l.Op.Peer != q.Op.Peer || l.Op.Tag != q.Op.Tag {
			continue
		}
		if o := w.counterpart(l); o != nil && w.eager(l.Op) != w.eager(o.Op) {
			return true
		}
	}
	return false
}

// cancels reports whether the program has cancelled something. Then positions no longer tell
// which send belongs to which receive: whether a pair fits depends on what has been taken back.
func (w *World) cancels() bool {
	for _, r := range w.ranks {
		for _, q := range r.reqs {
			if q.CancelledAt != 0 {
				return true
			}
		}
	}
	return false
}

// broken checks the end of a program that breaks the assumption.
func (w *World) broken() {
	if w.cancels() {
		w.brokenAndCancelled()
		return
	}
	for _, r := range w.ranks {
		for _, q := range r.reqs {
			o := w.counterpart(q)
			switch {
			case o == nil:
			case !q.r.Done:
				w.fail(r.id, "%s waits for ever, although %s has been posted", w.Name(q), w.Name(o))
			case w.eager(q.Op) == w.eager(o.Op):
			case q.err == nil && (q.Op.Kind == Recv || q.Op.Sync || !w.eager(q.Op)):
				w.fail(r.id, "%s completes as if nothing were wrong, but %s does not fit", w.Name(q), w.Name(o))
			}
		}
	}
}

// brokenAndCancelled checks the end if something has been cancelled as well: it completes, and
// no send and receive that match wait for ever.
func (w *World) brokenAndCancelled() {
	for _, r := range w.ranks {
		for _, q := range r.reqs {
			if q.r.Done {
				continue
			}
			if q.CancelledAt != 0 {
				w.fail(r.id, "%s was to be cancelled, and never completes", w.Name(q))
			}
			for _, o := range w.ranks[q.Op.Peer].reqs {
				if q.Op.Kind == Recv && o.Op.Kind == Send && o.Op.Peer == r.id && !o.r.Done && q.takes(o) {
					w.fail(r.id, "%s and %s match, and both wait for ever", w.Name(q), w.Name(o))
				}
			}
		}
	}
}

package world

import (
	"errors"

	"github.com/exanet-mpi/exanet/variants"
)

// Deaths. With Config.Mortal one rank dies, at any moment: Die. It does nothing
// more, and nothing more lands in its memory; a write to it ends with an error.
// What it has sent is still under way, and its writes may still land, until the
// others are told, one by one: Tell. As package variants promises its protocols,
// a rank is told when all that the dead one has sent to it has been delivered, and
// every notification that has landed has been looked at. From then on nothing of
// the dead rank lands there.
//
// In the end whatever depends on the dead rank must have completed, and nothing
// else have an error.

// living returns the ranks that have not died.
func (w *World) living() []*rank {
	if w.cfg.Mortal == 0 {
		return w.ranks
	}
	var list []*rank
	for _, r := range w.ranks {
		if !r.dead {
			list = append(list, r)
		}
	}
	return list
}

// deceased returns the rank that has died, nil if none has.
func (w *World) deceased() *rank {
	if w.cfg.Mortal > 0 {
		for _, r := range w.ranks {
			if r.dead {
				return r
			}
		}
	}
	return nil
}

// deaths appends the deaths that can happen, and the ranks that can be told.
func (w *World) deaths(acts []Action) []Action {
	if w.cfg.Mortal == 0 {
		return acts
	}
	d := w.deceased()
	if d == nil {
		for i := w.cfg.Ranks - w.cfg.Mortal; i < w.cfg.Ranks; i++ {
			acts = append(acts, Action{Kind: Die, From: uint8(i)})
		}
		return acts
	}
	for _, r := range w.living() {
		if !r.told && w.drained(d, r) {
			acts = append(acts, Action{Kind: Tell, From: uint8(d.id), To: uint8(r.id)})
		}
	}
	return acts
}

// drained reports whether all that a dead rank has sent to another has been
// delivered.
func (w *World) drained(dead, to *rank) bool {
	if len(w.queue(dead.id, to.id).msgs) > 0 {
		return false
	}
	for _, r := range []*rank{dead, to} { // an agent's writes are in the list of the receiver
		for _, v := range r.writes {
			if v.from == dead.id && v.to == to.id && v.all && !v.noticed {
				return false
			}
		}
	}
	return true
}

func (w *World) die(r *rank) {
	r.dead = true
	for from := range w.ranks {
		w.queue(from, r.id).msgs = nil
	}
}

func (w *World) tell(r *rank, dead int) {
	r.told = true
	for range 2 { // as mpi does, which says after each death who all have died
		r.proto.PeerFailed(dead)
	}
}

// interrupted reports whether nothing of a write lands or is noticed any more.
func (w *World) interrupted(v *write) bool {
	return w.ranks[v.to].dead || w.ranks[v.from].dead && w.ranks[v.to].told
}

// depends reports whether a request depends on the rank that has died.
func (w *World) depends(q *Request) bool {
	d := w.deceased()
	return d != nil && (q.Op.Peer == d.id || q.Op.Peer == int(variants.AnySource))
}

// lostPeer reports whether a receive has ended because of a death, or has got a
// message of the dead rank. What else that rank had sent does not matter any more.
func (w *World) lostPeer(q *Request) bool {
	d := w.deceased()
	if d != nil && q.held != nil {
		return int(q.held.Src) == d.id
	}
	return d != nil && (q.err != nil && errors.Is(q.err, variants.ErrPeerDied) || int(q.status.Source) == d.id)
}

// excused reports whether a request may end with the error that it has.
func (w *World) excused(q *Request) bool {
	switch {
	case errors.Is(q.err, variants.ErrPeerDied):
		return w.depends(q)
	case w.cfg.Broken:
		return w.mismatched(q)
	}
	return false
}

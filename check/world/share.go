package world

import (
	"slices"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Sources that are lent.
//
// Where Config.Leased says so, the device is that of a host: a source can be lent before it
// is known where it goes (rdmaeng.Lender). The receiving side's part in the copy is a write
// in its own list, as one by an agent is. Of the two writes the first that lands copies all
// and notifies; the other one does nothing any more.

// lender is a device that lends.
type lender struct{ *device }

// loan is a source that a rank has lent.
type loan struct {
	t      *rdmaeng.Transfer
	req    *Request // whose send it is
	copied bool
	over   bool
}

// stageLent is the Stage of a transfer whose source is lent.
const stageLent = 1

// Lend implements rdmaeng.Lender.
func (d lender) Lend(t *rdmaeng.Transfer) (rdmaeng.Window, bool) {
	if t.To == d.rank.id {
		return rdmaeng.Window{}, false
	}
	t.Stage = stageLent
	d.loans = append(d.loans, &loan{t: t, req: d.sender(t)})
	return rdmaeng.Window{Addr: uint64(d.rank.id), Notify: uint64(len(d.loans) - 1)}, true
}

// Borrow implements rdmaeng.Lender.
func (d lender) Borrow(slot, from int, src rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	d.w.looks()
	l := d.w.ranks[from].dev.loans[src.Notify]
	s := &d.slots[slot]
	v := d.start(&rdmaeng.Transfer{To: d.rank.id, Src: l.t.Src[:size],
		Dst: rdmaeng.Window{Notify: uint64(slot) | uint64(s.gen)<<32}, Notify: n}, from)
	v.agent, v.finished, v.loan, v.req = true, true, l, l.req
	d.rank.give(mix(uint64(size)<<16 | uint64(l.req.send)))
	d.began(v, size)
	return true
}

// Reclaim implements rdmaeng.Lender.
func (d lender) Reclaim(t *rdmaeng.Transfer) {
	l := d.lent(t)
	if l == nil {
		d.w.fail(d.rank.id, "a source is taken back that is not lent")
		return
	}
	d.w.looks()
	l.over, t.Stage = true, 0
	for _, v := range d.w.ranks[t.To].writes {
		if v.loan == l && d.w.lands(v) && !d.w.ranks[t.To].dead {
			d.w.fail(d.rank.id, "a source is taken back that rank %d copies", t.To)
		}
	}
}

// lent returns the loan of a transfer, nil if there is none.
func (d *device) lent(t *rdmaeng.Transfer) *loan {
	i := slices.IndexFunc(d.loans, func(l *loan) bool { return l.t == t && !l.over })
	if i < 0 || t.Stage != stageLent {
		return nil
	}
	return d.loans[i]
}

// sender is the request whose transfer it is, or whose data it copies.
func (d *device) sender(t *rdmaeng.Transfer) *Request {
	for _, q := range d.rank.reqs {
		if &q.r.Transfer == t {
			return q
		}
	}
	return d.copied(t.Src)
}

// copied is the send whose data memory has, nil if it is none's.
func (d *device) copied(b []byte) *Request {
	for _, q := range d.rank.reqs {
		if q.Op.Kind == Send && q.Op.Size == len(b) && q.holdsAt(b) {
			return q
		}
	}
	return nil
}

// holdsAt reports whether memory begins with the message of a send.
func (q *Request) holdsAt(b []byte) bool {
	for i := range q.Op.Size {
		if b[i] != q.pattern(i) {
			return false
		}
	}
	return true
}

// copied reports whether a send may have completed by a copy of its data, which no receive has taken yet.
func (w *World) copied(q *Request) bool {
	return q.Op.Kind == Send && !q.Op.Sync && q.Op.Size <= w.cfg.Hybrid &&
		!slices.ContainsFunc(w.ranks[q.Op.Peer].reqs, func(r *Request) bool { return r.got == q && r.r.Done })
}

// lands reports whether data of a write are still to land: not if the other side has copied
// all. A reader gives up when the exposure has ended, and when the writer has died.
func (w *World) lands(v *write) bool {
	l := v.loan
	switch {
	case v.all || l != nil && l.copied:
		return false
	case l == nil || !v.agent:
		return true
	}
	_, s := v.target(w)
	return !l.over && s != nil && !w.ranks[v.from].dead
}

// over reports whether nothing of a write is left to happen.
func (v *write) over() bool {
	return v.finished && (v.all && v.noticed || !v.all && v.loan != nil && v.loan.copied)
}

// forgotten checks that sources are not lent for longer than their sends last.
func (w *World) forgotten(r *rank) {
	for _, l := range r.dev.loans {
		if !l.over && l.req.r.Done && !w.copied(l.req) {
			w.fail(r.id, "%s has completed, and its source is still lent", w.Name(l.req))
		}
	}
}

package world

import "github.com/exanet-mpi/exanet/rdmaeng"

// Devices that promise less. With Config.Order a write may be done for its sender
// before its data lands, as if the device had made a copy; and what is not promised
// happens: a later message is delivered before an earlier one, a notification is
// shown before the data has landed, or a message is delivered before a write lands
// that was done when it was sent.

// keeps reports whether the device promises something.
func (w *World) keeps(o rdmaeng.Order) bool { return w.cfg.Order == 0 || w.cfg.Order&o != 0 }

// deliverable returns which messages of a queue can be delivered next.
func (w *World) deliverable(q *queue) (list []int) {
	for i := range q.msgs {
		if i > 0 && w.keeps(rdmaeng.MessagesInOrder) {
			break
		}
		if q.msgs[i].waits() == 0 {
			list = append(list, i)
		}
	}
	return list
}

// mail reports whether the first message of a rank to another can be delivered.
func (w *World) mail(from, to int) bool {
	q := w.queue(from, to)
	return len(q.msgs) > 0 && q.msgs[0].waits() == 0
}

// shows reports whether the notification of a write that has landed can be shown. Where buffers stand, the messages
// that had been sent when it was started come before.
func (w *World) shows(v *write) bool {
	delivered := w.queue(v.from, v.to).delivered
	if w.ranks[v.to].taking == v.from+1 {
		delivered--
	}
	return v.all && !v.noticed && delivered >= v.behind
}

// waits is a hash of the writes that must land before a message is delivered, 0 if there are none.
func (m *message) waits() (h uint64) {
	for _, v := range m.behind {
		if !v.all {
			h += mix(v.hash()) | 1
		}
	}
	return h
}

// early appends what may happen to a write before its data has landed; a is the landing. Of what is lent the device
// makes no copy.
func (w *World) early(acts []Action, v *write, a Action) []Action {
	if !w.keeps(rdmaeng.DataFirst) && !v.noticed {
		a.Kind = Notice
		acts = append(acts, a)
	}
	if w.cfg.Order != 0 && v.loan == nil && !v.finished && !w.ranks[v.from].dead {
		a.Kind = Finish
		acts = append(acts, a)
	}
	return acts
}

// finish ends a write for its sender. If its data have not landed, the device has them from now on.
func (v *write) finish() {
	v.finished = true
	if !v.all && v.loan == nil {
		v.taken = append([]byte{}, v.t.Src...)
	}
}

// source is where a write takes its data from.
func (v *write) source() []byte {
	if v.taken != nil {
		return v.taken
	}
	return v.t.Src
}

// taken returns the writes to a rank that are done and have not landed.
func (d *device) taken(to int) (list []*write) {
	for _, v := range d.rank.writes {
		if v.to == to && v.taken != nil && !v.all {
			list = append(list, v)
		}
	}
	return list
}

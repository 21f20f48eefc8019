package world

import "github.com/exanet-mpi/exanet/rdmaeng"

// Writes without a notification.
//
// Where Config.Order has rdmaeng.LastByteLast, the pieces of such a write land in order; else the second one lands
// first. The receiver may be shown that the last byte of a buffer that it watches has changed as soon as it has,
// whoever has written it.

// Watch implements rdmaeng.Watcher.
func (d *device) Watch(i int, n rdmaeng.Notification) {
	s := &d.slots[i]
	s.watch, s.was = &n, s.buf[len(s.buf)-1]
	d.rank.give(mix(uint64(s.was)<<32 | uint64(i) | 1<<48)) // what has landed before is not an input otherwise
}

// Unwatch implements rdmaeng.Watcher.
func (d *device) Unwatch(i int) { d.slots[i].watch = nil }

// changed reports whether the last byte of a slot that is watched has changed. There may be no slot.
func (s *slot) changed() bool { return s != nil && s.watch != nil && s.buf[len(s.buf)-1] != s.was }

// noticeable reports whether the receiver of a write can see its notification, or that the last byte has changed.
func (w *World) noticeable(v *write) bool {
	if v.noticed {
		return false
	}
	if _, s := v.target(w); s.changed() && v.pieces > 0 {
		return true
	}
	return w.shows(v) && !v.t.Silent
}

// reversed returns the other half of a write where nothing is promised of their order.
func (w *World) reversed(v *write, from, to int) (int, int) {
	if !v.t.Silent || w.cfg.Order&rdmaeng.LastByteLast != 0 {
		return from, to
	}
	if n := len(v.source()); from == 0 {
		return to, n
	}
	return 0, from
}

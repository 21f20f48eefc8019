package sim

// lane is something that serves one at a time: a link in one direction, a packetizer,
// a mailbox, an engine. It is reserved ahead: whoever walks along a route reserves
// every link of it at once, for when it will get there. So somebody who walks later may
// get to a link earlier, and takes the gaps that are left.
type lane struct {
	busy  []span // in order, from first on; those that are over are forgotten
	first int

	load Load
}

type span struct{ from, to Time }

// Load is what has gone through a link, or a block.
type Load struct {
	Messages, Bytes uint64 // messages of the packetizer, and all bytes
	Busy            Time
}

// reserve takes the first free time of a length from at on and returns its beginning.
// now is the time of the simulation: nobody will ask for earlier.
func (l *lane) reserve(now, at, length Time) Time {
	if length == 0 {
		return at
	}
	l.load.Busy += length
	for l.first < len(l.busy) && l.busy[l.first].to <= now {
		l.first++
	}
	if l.first == len(l.busy) {
		l.busy, l.first = append(l.busy[:0], span{at, at + length}), 0
		return at
	}
	// Mostly behind all others.
	i := len(l.busy)
	for i > l.first && l.busy[i-1].from >= at {
		i--
	}
	// busy[i] is the first that begins at or after at.
	if i > l.first && l.busy[i-1].to > at {
		at = l.busy[i-1].to
	}
	for i < len(l.busy) && l.busy[i].from < at+length {
		at = max(at, l.busy[i].to)
		i++
	}
	l.insert(i, span{at, at + length})
	return at
}

// insert puts a span before busy[i], joined with its neighbours where they touch.
func (l *lane) insert(i int, s span) {
	before := i > l.first && l.busy[i-1].to == s.from
	after := i < len(l.busy) && l.busy[i].from == s.to
	switch {
	case before && after:
		l.busy[i-1].to = l.busy[i].to
		l.busy = append(l.busy[:i], l.busy[i+1:]...)
	case before:
		l.busy[i-1].to = s.to
	case after:
		l.busy[i].from = s.from
	default:
		if len(l.busy) == cap(l.busy) && l.first > 0 {
			n := copy(l.busy, l.busy[l.first:])
			i -= l.first
			l.busy, l.first = l.busy[:n], 0
		}
		l.busy = append(l.busy, span{})
		copy(l.busy[i+1:], l.busy[i:])
		l.busy[i] = s
	}
}

// until is when the last reservation ends.
func (l *lane) until() Time {
	if l.first == len(l.busy) {
		return 0
	}
	return l.busy[len(l.busy)-1].to
}

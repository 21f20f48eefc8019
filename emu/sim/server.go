package sim

// server is something that serves one at a time: a link in one direction, a packetizer,
// a mailbox, an engine. It is reserved ahead: whoever walks along a route reserves
// every link of it at once, for when it will get there. So somebody who walks later may
// get to a link earlier, and takes the gaps that are left.
type server struct {
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
func (v *server) reserve(now, at, length Time) Time {
	if length == 0 {
		return at
	}
	v.load.Busy += length
	for v.first < len(v.busy) && v.busy[v.first].to <= now {
		v.first++
	}
	if v.first == len(v.busy) {
		v.busy, v.first = append(v.busy[:0], span{at, at + length}), 0
		return at
	}
	// Mostly behind all others.
	i := len(v.busy)
	for i > v.first && v.busy[i-1].from >= at {
		i--
	}
	// busy[i] is the first that begins at or after at.
	if i > v.first && v.busy[i-1].to > at {
		at = v.busy[i-1].to
	}
	for i < len(v.busy) && v.busy[i].from < at+length {
		at = max(at, v.busy[i].to)
		i++
	}
	v.insert(i, span{at, at + length})
	return at
}

// insert puts a span before busy[i], joined with its neighbours where they touch.
func (v *server) insert(i int, s span) {
	before := i > v.first && v.busy[i-1].to == s.from
	after := i < len(v.busy) && v.busy[i].from == s.to
	switch {
	case before && after:
		v.busy[i-1].to = v.busy[i].to
		v.busy = append(v.busy[:i], v.busy[i+1:]...)
	case before:
		v.busy[i-1].to = s.to
	case after:
		v.busy[i].from = s.from
	default:
		if len(v.busy) == cap(v.busy) && v.first > 0 {
			n := copy(v.busy, v.busy[v.first:])
			i -= v.first
			v.busy, v.first = v.busy[:n], 0
		}
		v.busy = append(v.busy, span{})
		copy(v.busy[i+1:], v.busy[i:])
		v.busy[i] = s
	}
}

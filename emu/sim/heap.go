package sim

// event is something that happens at a time. Events of the same time happen in the
// order in which they were announced.
type event struct {
	at   Time
	seq  uint64 // and the kind in the lowest bits
	of   int32  // routine, rank, message or write
	turn uint32 // of a resume: those of earlier turns are void
}

type kind uint8

const (
	resume    kind = iota // a routine goes on
	progress              // a rank's background routine looks whether it has something to do
	ring                  // a rank's background bell is rung
	refill                // a mailbox that had refused a rank's message has room
	timer                 // a rank has spun long enough, or an alarm goes off
	depart                // a message has been written to the packetizer
	begin                 // a write has been given to the engine
	chunk                 // the engine takes the next piece of a write
	kindBits  = 3
	kindsMask = 1<<kindBits - 1
)

func (e *event) kind() kind { return kind(e.seq & kindsMask) }

// agenda is the queue of events: a heap, in which each has four children.
type agenda struct {
	heap []event
	seq  uint64
}

func (a *agenda) push(at Time, k kind, of int32, turn uint32) {
	a.seq++
	e := event{at: at, seq: a.seq<<kindBits | uint64(k), of: of, turn: turn}
	h := append(a.heap, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if h[up].at < e.at || h[up].at == e.at && h[up].seq < e.seq {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	a.heap = h
}

// next is the time of the next event.
func (a *agenda) next() Time {
	if len(a.heap) == 0 {
		return never
	}
	return a.heap[0].at
}

func (a *agenda) pop() event {
	h := a.heap
	top := h[0]
	n := len(h) - 1
	e := h[n]
	h = h[:n]
	a.heap = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h[j].at < h[least].at || h[j].at == h[least].at && h[j].seq < h[least].seq {
				least = j
			}
		}
		if e.at < h[least].at || e.at == h[least].at && e.seq < h[least].seq {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
	return top
}

package ticket

import "github.com/exanet-mpi/exanet/variants"

// message is an RTS, EnvD or EnvDS that no receive has matched yet. It is in
// the queue of its lane, for receives that name source and tag, and in that of
// its communicator, for wildcards.
type message struct {
	lane   *inLane
	kind   variants.Kind
	ticket uint32
	size   int
	data   []byte // of EnvD and EnvDS; capacity is kept for reuse

	inLane, inComm links
}

type links struct{ next, prev *message }

// arrivals is a FIFO of messages, linked through one of their two links.
type arrivals struct{ head, tail *message }

func (a *arrivals) push(m *message, of func(*message) *links) {
	l := of(m)
	l.next, l.prev = nil, a.tail
	if a.tail == nil {
		a.head = m
	} else {
		of(a.tail).next = m
	}
	a.tail = m
}

func (a *arrivals) remove(m *message, of func(*message) *links) {
	l := of(m)
	if l.prev == nil {
		a.head = l.next
	} else {
		of(l.prev).next = l.next
	}
	if l.next == nil {
		a.tail = l.prev
	} else {
		of(l.next).prev = l.prev
	}
	*l = links{}
}

func byLane(m *message) *links { return &m.inLane }
func byComm(m *message) *links { return &m.inComm }

// match returns the oldest message of a communicator that a wildcard receive
// takes.
func (a *arrivals) match(src, tag int32) *message {
	for m := a.head; m != nil; m = m.inComm.next {
		if takes(src, tag, m.lane.src, m.lane.tag) {
			return m
		}
	}
	return nil
}

// takes reports whether a receive with these arguments takes a message.
func takes(src, tag, msgSrc, msgTag int32) bool {
	return (src == variants.AnySource || src == msgSrc) && (tag == variants.AnyTag || tag == msgTag)
}

// spareMessages bounds the messages kept for reuse, and spareData the bytes
// each may hold on to.
const (
	spareMessages = 64
	spareData     = 8 << 10
)

func (p *Protocol) keep(c *comm, l *inLane, e variants.Envelope, size int, payload []byte) {
	m := p.spare
	if m == nil {
		m = new(message)
	} else {
		p.spare, m.inLane.next = m.inLane.next, nil
		p.spares--
	}
	m.lane, m.kind, m.ticket, m.size = l, e.Kind, e.Ticket, size
	m.data = append(m.data[:0], payload...)
	l.unexpected.push(m, byLane)
	c.arrived.push(m, byComm)
}

func (c *comm) forgetMessage(m *message) {
	m.lane.unexpected.remove(m, byLane)
	c.arrived.remove(m, byComm)
}

func (p *Protocol) recycle(m *message) {
	if p.spares == spareMessages || cap(m.data) > spareData {
		return
	}
	m.lane = nil
	m.inLane.next = p.spare
	p.spare = m
	p.spares++
}

package variants

// Matching is the pair of queues that MPI's matching rule needs at a receiver
// (thesis 3.2.6): posted receives, and messages that none has matched. Both are
// plain FIFO queues of a communicator, since wildcards may take from anywhere in
// them.
type Matching struct {
	Posted Queue

	head, tail *Message
	spare      *Message
	spares     int
}

// Message is an unexpected message.
type Message struct {
	Envelope
	Size int
	Data []byte // of EnvD and EnvDS

	next, prev *Message
}

// spareMessages bounds the messages kept for reuse, and spareData the bytes
// each may hold on to.
const (
	spareMessages = 64
	spareData     = 8 << 10
)

// Takes reports whether a receive with these arguments takes a message.
func Takes(src, tag, msgSrc, msgTag int32) bool {
	return (src == AnySource || src == msgSrc) && (tag == AnyTag || tag == msgTag)
}

// Match returns the oldest posted receive that takes a message, and removes it.
func (m *Matching) Match(src, tag int32) *Request {
	for r := m.Posted.head; r != nil; r = r.next {
		if Takes(r.Peer, r.Tag, src, tag) {
			m.Posted.Remove(r)
			return r
		}
	}
	return nil
}

// Keep stores a message that no receive has matched.
func (m *Matching) Keep(e Envelope, size int, payload []byte) {
	x := m.spare
	if x == nil {
		x = new(Message)
	} else {
		m.spare = x.next
		m.spares--
	}
	x.Envelope, x.Size = e, size
	x.Data = append(x.Data[:0], payload...)
	x.next, x.prev = nil, m.tail
	if m.tail == nil {
		m.head = x
	} else {
		m.tail.next = x
	}
	m.tail = x
}

// First returns the oldest message, and Following the next after one.
func (m *Matching) First() *Message { return m.head }

// Following returns the message behind x in its queue.
func (x *Message) Following() *Message { return x.next }

// Find returns the oldest message that a receive with these arguments takes.
func (m *Matching) Find(src, tag int32) *Message {
	for x := m.head; x != nil; x = x.next {
		if Takes(src, tag, x.Src, x.Tag) {
			return x
		}
	}
	return nil
}

// FindNumber returns the message of a sender with a number (its Ticket).
func (m *Matching) FindNumber(src int32, number uint32) *Message {
	for x := m.head; x != nil; x = x.next {
		if x.Src == src && x.Ticket == number {
			return x
		}
	}
	return nil
}

// Drop removes a message. Its data stay valid until the next Keep.
func (m *Matching) Drop(x *Message) {
	if x.prev == nil {
		m.head = x.next
	} else {
		x.prev.next = x.next
	}
	if x.next == nil {
		m.tail = x.prev
	} else {
		x.next.prev = x.prev
	}
	x.next, x.prev = nil, nil
	if m.spares < spareMessages && cap(x.Data) <= spareData {
		x.next = m.spare
		m.spare = x
		m.spares++
	}
}

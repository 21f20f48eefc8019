package variants

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/workcount"
)

// Message is an unexpected message: one that no posted receive has matched.
type Message struct {
	Envelope
	Size int    // bytes sent, as an RTS tells or Data holds
	Data []byte // the payload

	InComm    Link[Message] // among all of the communicator, for receives with wildcards
	InChannel Link[Message] // among those with the same source and tag, for package ticket
}

// Status is what a receive of the message would tell.
func (x *Message) Status() Status { return Status{Source: x.Src, Tag: x.Tag, Size: x.Size} }

// spareMessages bounds the memory of messages kept for reuse, in bytes: room for
// thousands of short ones that come before their receives.
const spareMessages = 1 << 20

// memory is what a spare message holds on to.
func (x *Message) memory() int { return int(unsafe.Sizeof(*x)) + cap(x.Data) }

// Unexpected makes a message of what has arrived.
func (c *Core) Unexpected(e Envelope, size int, payload []byte) *Message {
	x := c.spare.First()
	if x == nil {
		x = new(Message)
	} else {
		c.spare.Remove(&x.InComm)
		c.spares -= x.memory()
	}
	c.Done.Objects++
	x.Envelope, x.Size = e, size
	x.Data = append(x.Data[:0], payload...)
	return x
}

// Recycle takes back a message that is in no queue and that nobody looks at any
// more.
func (c *Core) Recycle(x *Message) {
	if n := x.memory(); c.spares+n <= spareMessages {
		c.spare.Push(&x.InComm, x)
		c.spares += n
	}
}

// Takes reports whether a receive with these arguments takes a message.
func Takes(src, tag, msgSrc, msgTag int32) bool {
	return (src == AnySource || src == msgSrc) && (tag == AnyTag || tag == msgTag)
}

// Unmatched is the queue of a communicator's unexpected messages (thesis 3.2.6:
// received sends), oldest first.
type Unmatched struct{ List[Message] }

// Keep puts a message behind the others.
func (u *Unmatched) Keep(x *Message) { u.Push(&x.InComm, x) }

// Drop takes a message out.
func (u *Unmatched) Drop(x *Message) { u.Remove(&x.InComm) }

// Find returns the oldest message that a receive with these arguments takes, and counts
// those that it looks at.
func (u *Unmatched) Find(w *workcount.Count, src, tag int32) *Message {
	for x := u.First(); x != nil; x = x.InComm.Next() {
		w.Searched++
		if Takes(src, tag, x.Src, x.Tag) {
			return x
		}
	}
	return nil
}

// FindNumber returns the message of a sender with a number (its Ticket).
func (u *Unmatched) FindNumber(src int32, number uint32) *Message {
	for x := u.First(); x != nil; x = x.InComm.Next() {
		if x.Src == src && x.Ticket == number {
			return x
		}
	}
	return nil
}

// Matching is the pair of queues that MPI's matching rule needs at a receiver
// (thesis 3.2.6): posted receives, and messages that none has matched. Both are
// plain FIFO queues of a communicator, since wildcards may take from anywhere in
// them. Package ticket, which has a queue for each (source, tag) as well, uses
// only the second.
type Matching struct {
	Posted  Queue
	Arrived Unmatched
}

// Match returns the oldest posted receive that takes a message, and removes it. It
// counts those that it looks at.
func (m *Matching) Match(w *workcount.Count, src, tag int32) *Request {
	for r := m.Posted.Head(); r != nil; r = r.Next() {
		w.Searched++
		if Takes(r.Peer, r.Tag, src, tag) {
			m.Posted.Remove(r)
			return r
		}
	}
	return nil
}

// Post finds the oldest message that a receive takes, and removes it. If there is none it
// returns nil, and the receive is queued; or it has ended, since a rank has died.
func (m *Matching) Post(p *Core, r *Request) *Message {
	if x := m.Arrived.Find(&p.Done, r.Peer, r.Tag); x != nil {
		m.Arrived.Drop(x)
		return x
	}
	if err := p.Hopeless(r.Ctx, r.Peer); err != nil {
		p.Complete(r, err)
		return nil
	}
	m.Posted.Push(r)
	return nil
}

// Probe is Protocol.Probe where all unexpected messages are here.
func (m *Matching) Probe(p *Core, ctx *Context, src, tag int32) (st Status, found bool, err error) {
	if x := m.Arrived.Find(&p.Done, src, tag); x != nil {
		return x.Status(), true, nil
	}
	return st, false, p.Hopeless(ctx, src)
}

// Extract is Protocol.Extract where all unexpected messages are here.
func (m *Matching) Extract(p *Core, ctx *Context, src, tag int32) (x *Message, found bool, err error) {
	if x = m.Arrived.Find(&p.Done, src, tag); x == nil {
		return nil, false, p.Hopeless(ctx, src)
	}
	m.Arrived.Drop(x)
	ctx.Active++
	return x, true, nil
}

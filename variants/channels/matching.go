package channels

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// A receive that names source and tag is in the queue of its channel, with a ticket or without; one with a wildcard is
// in that of the communicator. A message that no receive takes is unexpected: it is in the queue of its channel, for
// receives that name both, and in that of its communicator, for wildcards.

// Wild reports whether a receive with these arguments has a wildcard.
func Wild(src, tag int32) bool { return src == variants.AnySource || tag == variants.AnyTag }

// Oldest returns the unexpected message that a receive with these arguments would take.
func (t *Table) Oldest(c *Comm, src, tag int32) *variants.Message {
	if Wild(src, tag) {
		return c.arrived.Find(&t.Done, src, tag)
	}
	if l := c.in[key(src, tag)]; l != nil {
		return l.unexpected.First()
	}
	return nil
}

// First returns the oldest unexpected message of the channel.
func (l *In) First() *variants.Message { return l.unexpected.First() }

// Post queues a receive without a wildcard and reports whether it has got a ticket.
func (t *Table) Post(c *Comm, l *In, r *variants.Request) bool {
	c.order++
	r.Order = c.order
	l.Posted.Push(r)
	if l.suspended(c) {
		c.hold(l)
		return false
	}
	t.assign(l, r)
	return true
}

// assign gives a posted receive its ticket.
func (t *Table) assign(l *In, r *variants.Request) {
	r.Ticket, r.Ticketed = l.Next, true
	t.Done.Tickets++
	l.pass(l.Next)
}

// pass moves the channel on after a ticket has been used, over those of cancelled
// sends.
func (l *In) pass(used uint32) {
	l.Next = used + 1
	if len(l.skip) > 0 {
		l.Next = l.skip.pass(l.Next)
	}
}

// Match takes the receive that a message belongs to out of its queue: the one
// with its ticket, else the first without a ticket.
func (t *Table) Match(c *Comm, l *In, ticket uint32) (r *variants.Request, stale bool) {
	for r = l.Posted.Head(); r != nil && r.Ticketed; r = r.Next() {
		t.Done.Searched++
		if r.Ticket == ticket {
			l.Posted.Remove(r)
			return r, false
		}
	}
	if before(ticket, l.Next) {
		return nil, true
	}
	w := c.firstWild(l.Src, l.Tag)
	if r == nil && w == nil {
		return nil, false
	}
	l.pass(ticket)
	if r != nil && (w == nil || r.Order < w.Order) {
		l.Posted.Remove(r)
		l.unticketed--
		return r, false
	}
	t.removeWild(c, w)
	return w, false
}

// Keep queues an unexpected message.
func (c *Comm) Keep(l *In, m *variants.Message) {
	l.unexpected.Push(&m.InChannel, m)
	c.arrived.Keep(m)
}

// Unqueue takes an unexpected message, which uses its ticket, out of its queues, and returns its channel.
func (t *Table) Unqueue(c *Comm, m *variants.Message) *In {
	l := t.In(c, m.Src, m.Tag)
	c.drop(l, m)
	l.pass(m.Ticket)
	return l
}

func (c *Comm) drop(l *In, m *variants.Message) {
	l.unexpected.Remove(&m.InChannel)
	c.arrived.Drop(m)
}

// TakeBack removes a receive without a ticket from its queue.
func (t *Table) TakeBack(r *variants.Request) {
	c := t.comms.Of(r.Ctx)
	if Wild(r.Peer, r.Tag) {
		t.removeWild(c, r)
		return
	}
	l := t.In(c, r.Peer, r.Tag)
	l.Posted.Remove(r)
	l.unticketed--
}

// SkipReceive cancels the send with a ticket if it is unexpected, and returns its message, else nil.
func (c *Comm) SkipReceive(l *In, ticket uint32) *variants.Message {
	m := l.unexpected.First()
	for m != nil && m.Ticket != ticket {
		m = m.InChannel.Next()
	}
	if m != nil {
		c.drop(l, m)
		l.skip.add(ticket)
		l.Next = l.skip.pass(l.Next)
	}
	return m
}

// Number gives a send its ticket.
func (t *Table) Number(l *Out, r *variants.Request) {
	l.drop()
	r.Ticket = l.Next
	l.Next++
	t.Done.Tickets++
}

// drop moves the next ticket past those of cancelled receives.
func (l *Out) drop() {
	if len(l.skip) > 0 {
		l.Next = l.skip.pass(l.Next)
	}
}

// Store keeps an advertisement until the send with its ticket is posted. It reports false if that has been.
func (t *Table) Store(l *Out, a Advertised) bool {
	if before(a.Ticket, l.Next) {
		return false
	}
	l.RTRs = append(l.RTRs, a)
	t.Done.Objects++
	return true
}

// Stored returns the stored advertisement with the ticket of a send. Those before it are gone:
// the send with that number has taken each, or it has been cancelled.
func (t *Table) Stored(l *Out, ticket uint32) (a Advertised, ok bool) {
	t.Done.Searched++
	if len(l.RTRs) == 0 || l.RTRs[0].Ticket != ticket {
		return a, false
	}
	a = l.RTRs[0]
	l.RTRs = l.RTRs[:copy(l.RTRs, l.RTRs[1:])]
	return a, true
}

// SkipSend cancels the receive with a ticket if its send has not been posted, and reports so.
func (l *Out) SkipSend(ticket uint32) bool {
	if before(ticket, l.Next) {
		return false
	}
	l.skip.add(ticket)
	l.RTRs = slices.DeleteFunc(l.RTRs, func(a Advertised) bool { return a.Ticket == ticket })
	return true
}

package channels

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// The shortest ways of short messages. A channel that is leased stays so.

// Awaited returns the channel of an EnvD and the receive that it is for, if that is the oldest of the channel that was
// looked up last; else nil, though there may be one.
func (t *Table) Awaited(h *packetizer.Header) (*In, *variants.Request) {
	c := t.comms.Last()
	if c == nil || c.eager != variants.Head(h) {
		return nil, nil
	}
	l := c.lastIn
	if l == nil || l.World != int32(h[1]>>32) || l.Tag != int32(uint32(h[2])) {
		return nil, nil
	}
	r := l.Posted.Head()
	if r == nil || !r.Ticketed || r.Ticket != uint32(h[2]>>32) {
		return nil, nil
	}
	return l, r
}

// Next returns the channel of an eager message that is still in the mailbox, if a receive that would be posted now
// takes it: the message is the next of its channel, and neither another message nor a receive has waited for longer.
// Else it returns nil.
func (t *Table) Next(ctx *variants.Context, src, tag int32, h *packetizer.Header) *In {
	c := t.comms.Of(ctx)
	if c.eager != variants.Head(h) || c.wild.Head() != nil {
		return nil
	}
	from, as := t.comms.Sender(h), int32(uint32(h[2]))
	if !variants.Takes(src, tag, from, as) {
		return nil
	}
	if Wild(src, tag) && c.arrived.Find(&t.Done, src, tag) != nil {
		return nil
	}
	l := t.lookIn(c, from, as)
	if l.Granted {
		t.lessee.Number(&l.Lease)
	}
	if !l.idle() || l.Next != uint32(h[2]>>32) {
		return nil
	}
	return l
}

// Use gives away the next message of a channel.
func (t *Table) Use(l *In) {
	l.Next++
	if l.Granted {
		t.lessee.Renumber(&l.Lease)
	}
}

// TakesNext implements variants.Taker.
func (t *Table) TakesNext(ctx *variants.Context, src, tag int32) bool {
	c := t.comms.Of(ctx)
	if Wild(src, tag) {
		return c.wild.Head() == nil && c.arrived.Find(&t.Done, src, tag) == nil
	}
	return c.wild.Head() == nil && t.lookIn(c, src, tag).idle()
}

// NextTo returns the channel to a rank, whose Header has the ticket of the next send.
func (t *Table) NextTo(ctx *variants.Context, dst, tag int32) *Out {
	l := t.lookOut(t.comms.Of(ctx), dst, tag)
	if l.Granted {
		t.lessee.Number(&l.Lease)
	}
	l.drop()
	variants.Number(&l.Header, l.Next) // where nothing has come between it has that number
	return l
}

// UseTo gives away the next ticket of a channel, and reports whether it was that of a stored advertisement.
func (t *Table) UseTo(l *Out) (stored bool) {
	if l.Next++; l.Granted {
		t.lessee.Renumber(&l.Lease)
	}
	variants.Number(&l.Header, l.Next) // now, so that it has left the store buffer when it is copied
	t.Done.Tickets++
	if len(l.RTRs) > 0 {
		_, stored = t.Stored(l, l.Next-1)
	}
	return stored
}

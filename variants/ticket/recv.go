package ticket

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// The receiving side of thesis 3.6.2 and 3.6.3.

// PostRecv posts a receive.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	p.Begin(r)
	if wild(r.Peer, r.Tag) {
		if m := c.arrived.Find(&p.Done, r.Peer, r.Tag); m != nil {
			p.accept(c, r, m)
		} else if err := p.Hopeless(c.Context, r.Peer); err != nil {
			p.Complete(r, err)
		} else {
			p.postWild(c, r)
		}
		return
	}
	l := p.inChannel(c, r.Peer, r.Tag)
	p.repeats(c, l, r)
	if m := l.unexpected.First(); m != nil {
		p.accept(c, r, m)
		return
	}
	if l.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		c.tidy(l)
		return
	}
	c.order++
	r.Order = c.order
	l.posted.Push(r)
	if l.suspended(c) {
		c.hold(l)
	} else {
		p.assign(c, l, r)
	}
}

// assign gives a posted receive its ticket and, if it is a long one,
// advertises it (receiver initiation).
func (p *Protocol) assign(c *comm, l *inChannel, r *variants.Request) {
	r.Ticket, r.Ticketed = l.Next, true
	p.Done.Tickets++
	l.pass(l.Next)
	if r.Len() > p.Limit() && !l.stands() && p.Room(r) == nil && !p.isSilent(c, r) {
		// A receive that finds no room finds out whether there is when its RTS comes.
		p.Advertise(l.peer, c.Envelope(variants.RTR, l.tag, r.Ticket), r)
	}
}

// pass moves the channel on after a ticket has been used, over those of cancelled
// sends.
func (l *inChannel) pass(used uint32) {
	l.Next = used + 1
	if len(l.skip) > 0 {
		l.Next = l.skip.pass(l.Next)
	}
}

// deliverShort is the shortest way of the most frequent message: an EnvD for the
// oldest receive of the channel that the last message had as well. It does what
// arrive would, or reports false and does nothing.
func (p *Protocol) deliverShort(h packetizer.Header, payload []byte) bool {
	c := p.comms.Last()
	if c == nil || c.eager != variants.Head(&h) {
		return false
	}
	l := c.lastIn
	if l == nil || l.world != int32(h[1]>>32) || l.tag != int32(uint32(h[2])) {
		return false
	}
	r := l.posted.Head()
	if r == nil || !r.Ticketed || r.Ticket != uint32(h[2]>>32) || r.Advertised || r.Silent ||
		len(payload) > len(r.Buf) {
		return false
	}
	l.posted.Remove(r)
	r.Status = variants.Status{Source: l.src, Tag: l.tag, Size: len(payload)}
	p.Out.Consumed(l.peer, len(payload))
	mem.Across(r.Buf, payload)
	p.Complete(r, nil)
	return true
}

// next returns the channel of an eager message that is still in the mailbox, if a receive that would be posted now
// takes it: the message is the next of its channel, and neither another message nor a receive has waited for longer.
// Else it returns nil.
func (p *Protocol) next(c *comm, src, tag int32, h *packetizer.Header) *inChannel {
	if wild(src, tag) && p.stand.most > 0 {
		p.Look(p.Notified) // a write may come before the message
	}
	if c.eager != variants.Head(h) || c.wild.Head() != nil {
		return nil
	}
	from, as := p.comms.Sender(h), int32(uint32(h[2]))
	if !variants.Takes(src, tag, from, as) {
		return nil
	}
	if wild(src, tag) && c.arrived.Find(&p.Done, src, tag) != nil {
		return nil
	}
	l := p.lookIn(c, from, as)
	if l.Granted {
		p.lessee.Number(&l.Lease)
	}
	if !l.idle() || l.Next != uint32(h[2]>>32) {
		return nil
	}
	return l
}

// use gives away the next message of a channel, which stays leased if it is.
func (p *Protocol) use(l *inChannel) {
	l.Next++
	if l.Granted {
		p.lessee.Renumber(&l.Lease)
	}
}

func wild(src, tag int32) bool { return src == variants.AnySource || tag == variants.AnyTag }

// Peek implements variants.Taker.
func (p *Protocol) Peek(ctx *variants.Context, src, tag int32, h *packetizer.Header, n int) (st variants.Status,
	ok bool) {
	l := p.next(p.comms.Of(ctx), src, tag, h)
	if l == nil {
		return st, false
	}
	return variants.Status{Source: l.src, Tag: l.tag, Size: n}, true
}

// Take implements variants.Taker.
func (p *Protocol) Take(ctx *variants.Context, src, tag int32, buf []byte, h *packetizer.Header,
	payload []byte) (st variants.Status, ok bool) {
	l := p.next(p.comms.Of(ctx), src, tag, h)
	if l == nil || len(payload) > len(buf) {
		return st, false
	}
	p.use(l)
	p.Out.Consumed(l.peer, len(payload))
	mem.Across(buf, payload)
	p.Count.Receives++
	return variants.Status{Source: l.src, Tag: l.tag, Size: len(payload)}, true
}

// TakeOut implements variants.Taker.
func (p *Protocol) TakeOut(ctx *variants.Context, src, tag int32, h *packetizer.Header,
	payload []byte) *variants.Message {
	l := p.next(p.comms.Of(ctx), src, tag, h)
	if l == nil {
		return nil
	}
	p.use(l)
	e := variants.Unpack(*h)
	e.Src = l.src
	ctx.Active++
	return p.Unexpected(e, len(payload), payload)
}

// TakesNext implements variants.Taker.
func (p *Protocol) TakesNext(ctx *variants.Context, src, tag int32) bool {
	c := p.comms.Of(ctx)
	if wild(src, tag) {
		return c.wild.Head() == nil && c.arrived.Find(&p.Done, src, tag) == nil
	}
	return c.wild.Head() == nil && p.lookIn(c, src, tag).idle()
}

// arrive matches a message that a send has caused, or keeps it.
func (p *Protocol) arrive(c *comm, e variants.Envelope, size int, payload []byte) {
	l := p.inChannel(c, e.Src, e.Tag)
	r, stale := p.match(c, l, e.Ticket)
	switch {
	case stale: // an RTS whose transfer has completed: the RTR crossed it
	case r != nil:
		p.receive(c, l.peer, r, e, size, l.data(e, size, payload))
		p.taken(l, e)
	default:
		c.keep(l, p.Unexpected(e, size, payload))
	}
}

// match takes the receive that a message belongs to out of its queue: the one
// with its ticket, else the first without a ticket.
func (p *Protocol) match(c *comm, l *inChannel, ticket uint32) (r *variants.Request, stale bool) {
	for r = l.posted.Head(); r != nil && r.Ticketed; r = r.Next() {
		p.Done.Searched++
		if r.Ticket == ticket {
			l.posted.Remove(r)
			return r, false
		}
	}
	if before(ticket, l.Next) {
		return nil, true
	}
	w := c.firstWild(l.src, l.tag)
	if r == nil && w == nil {
		return nil, false
	}
	l.pass(ticket)
	if r != nil && (w == nil || r.Order < w.Order) {
		l.posted.Remove(r)
		l.unticketed--
		return r, false
	}
	p.removeWild(c, w)
	return w, false
}

// accept gives an unexpected message to a receive that has just been posted.
func (p *Protocol) accept(c *comm, r *variants.Request, m *variants.Message) {
	l := p.inChannel(c, m.Src, m.Tag)
	c.drop(l, m)
	l.pass(m.Ticket)
	p.receive(c, l.peer, r, m.Envelope, m.Size, l.data(m.Envelope, m.Size, m.Data))
	p.taken(l, m.Envelope)
	p.Recycle(m)
}

// receive carries on a receive that a message has matched. payload is the data, or
// where the sender has lent them.
func (p *Protocol) receive(c *comm, peer *variants.Peer, r *variants.Request, e variants.Envelope, size int,
	payload []byte) {
	r.Ticket = e.Ticket
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	if e.Kind != variants.RTS {
		if e.Kind != variants.Landed {
			p.tookEager(c, r)
			p.Out.Consumed(peer, size)
		}
		if e.Kind == variants.EnvDS && !r.Advertised {
			p.Out.Control(peer, c.Envelope(variants.Ack, e.Tag, e.Ticket))
		}
		p.Fill(r, payload)
		return
	}
	if e.Flags&offered != 0 {
		p.fetch(c, peer, r, payload)
		return
	}
	if r.Advertised {
		r.Announced = true
		p.Count.Crossings++
		p.Borrow(peer, r, payload)
		return // the notification completes it
	}
	p.Clear(peer, c.Envelope(variants.CTS, e.Tag, e.Ticket), r, size)
	p.Borrow(peer, r, payload)
}

// Notified takes the notification of a completed write.
func (p *Protocol) Notified(slot int, n rdmaeng.Notification) {
	r := p.Exposed(slot)
	if r == nil {
		if p.stand.slots[slot] != nil {
			p.landed(slot, n)
		}
		return
	}
	switch c := p.comms.Of(r.Ctx); {
	case r.Queued: // matched by its RTR alone
		p.inChannel(c, r.Peer, r.Tag).posted.Remove(r)
		r.Status.Source = r.Peer
	case r.Fetched:
		p.release(c, r)
	}
	p.Written(r, n)
}

// Probe implements variants.Protocol (thesis 3.12). It suspends nothing.
func (p *Protocol) Probe(ctx *variants.Context, src, tag int32) (st variants.Status, found bool, err error) {
	c := p.comms.Of(ctx)
	if m := c.oldest(&p.Done, src, tag); m != nil {
		return m.Status(), true, nil
	}
	return st, false, p.Hopeless(ctx, src)
}

// Extract implements variants.Protocol. The message takes its ticket now, so the
// numbers of later receives are right whenever it is received.
func (p *Protocol) Extract(ctx *variants.Context, src, tag int32) (m *variants.Message, found bool, err error) {
	c := p.comms.Of(ctx)
	if m = c.oldest(&p.Done, src, tag); m == nil {
		return nil, false, p.Hopeless(ctx, src)
	}
	l := p.inChannel(c, m.Src, m.Tag)
	c.drop(l, m)
	l.pass(m.Ticket)
	if m.Kind == variants.Landed {
		m.Data = append(m.Data[:0], l.data(m.Envelope, m.Size, nil)...) // others wait for the buffer
		p.taken(l, m.Envelope)
	}
	ctx.Active++
	return m, true, nil
}

// PostMatched implements variants.Protocol.
func (p *Protocol) PostMatched(r *variants.Request, m *variants.Message) {
	p.BeginMatched(r, m)
	c := p.comms.Of(r.Ctx)
	p.receive(c, p.Out.Peer(c.World(m.Src)), r, m.Envelope, m.Size, m.Data)
	p.Recycle(m)
}

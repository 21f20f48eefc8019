package ticket

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
)

// The receiving side of thesis 3.6.2 and 3.6.3.

// PostRecv posts a receive.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.Of(r.Ctx)
	p.Begin(r)
	if channels.Wild(r.Peer, r.Tag) {
		if m := p.Oldest(c, r.Peer, r.Tag); m != nil {
			p.accept(c, r, m)
		} else if err := p.Hopeless(c.Context, r.Peer); err != nil {
			p.Complete(r, err)
		} else {
			p.PostWild(c, r)
		}
		return
	}
	l := p.In(c, r.Peer, r.Tag)
	p.repeats(c, l, r)
	if m := l.First(); m != nil {
		p.accept(c, r, m)
		return
	}
	if l.Peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		c.Tidy(l)
		return
	}
	if p.Post(c, l, r) {
		p.advertise(c, l, r)
	}
}

// advertise sends the RTR of a receive that has got its ticket, if it is a long one (receiver initiation).
func (p *Protocol) advertise(c *channels.Comm, l *channels.In, r *variants.Request) {
	if r.Len() <= p.Limit() || l.Landing.Stands() || p.Room(r) != nil {
		return // one that finds no room finds out whether there is when its RTS comes
	}
	if p.choices.Silent(r) {
		r.Silent = true
		p.Count.Silent++
		return
	}
	p.Advertise(l.Peer, c.Envelope(variants.RTR, l.Tag, r.Ticket), r)
}

// deliverShort is the shortest way of the most frequent message: an EnvD for the
// oldest receive of the channel that the last message had as well. It does what
// arrive would, or reports false and does nothing.
func (p *Protocol) deliverShort(h *packetizer.Header, payload []byte) bool {
	l, r := p.Awaited(h)
	if r == nil || r.Advertised || r.Silent || len(payload) > len(r.Buf) {
		return false
	}
	l.Posted.Remove(r)
	r.Status = variants.Status{Source: l.Src, Tag: l.Tag, Size: len(payload)}
	p.Out.Consumed(l.Peer, len(payload))
	mem.Across(r.Buf, payload)
	p.Complete(r, nil)
	return true
}

// next returns the channel of an eager message that is still in the mailbox, if a receive that would be posted now
// takes it, else nil.
func (p *Protocol) next(ctx *variants.Context, src, tag int32, h *packetizer.Header) *channels.In {
	if p.stands != nil && channels.Wild(src, tag) {
		p.Look(p.Notified) // a write may come before the message
	}
	return p.Next(ctx, src, tag, h)
}

// Peek implements variants.Taker.
func (p *Protocol) Peek(ctx *variants.Context, src, tag int32, h *packetizer.Header, n int) (st variants.Status,
	ok bool) {
	l := p.next(ctx, src, tag, h)
	if l == nil {
		return st, false
	}
	return variants.Status{Source: l.Src, Tag: l.Tag, Size: n}, true
}

// Take implements variants.Taker.
func (p *Protocol) Take(ctx *variants.Context, src, tag int32, buf []byte, h *packetizer.Header,
	payload []byte) (st variants.Status, ok bool) {
	l := p.next(ctx, src, tag, h)
	if l == nil || len(payload) > len(buf) {
		return st, false
	}
	p.Use(l)
	p.Out.Consumed(l.Peer, len(payload))
	mem.Across(buf, payload)
	p.Count.Receives++
	return variants.Status{Source: l.Src, Tag: l.Tag, Size: len(payload)}, true
}

// TakeOut implements variants.Taker.
func (p *Protocol) TakeOut(ctx *variants.Context, src, tag int32, h *packetizer.Header,
	payload []byte) *variants.Message {
	l := p.next(ctx, src, tag, h)
	if l == nil {
		return nil
	}
	p.Use(l)
	e := variants.Unpack(*h)
	e.Src = l.Src
	ctx.Active++
	return p.Unexpected(e, len(payload), payload)
}

// arrive matches a message that a send has caused, or keeps it.
func (p *Protocol) arrive(c *channels.Comm, e variants.Envelope, size int, payload []byte) {
	l := p.In(c, e.Src, e.Tag)
	r, stale := p.Match(c, l, e.Ticket)
	switch {
	case stale: // an RTS whose transfer has completed: the RTR crossed it
	case r != nil:
		p.receive(c, l.Peer, r, e, size, data(l, e, size, payload))
		p.taken(l, e)
	default:
		c.Keep(l, p.Unexpected(e, size, payload))
	}
}

// accept gives an unexpected message to a receive that has just been posted.
func (p *Protocol) accept(c *channels.Comm, r *variants.Request, m *variants.Message) {
	l := p.Unqueue(c, m)
	p.receive(c, l.Peer, r, m.Envelope, m.Size, data(l, m.Envelope, m.Size, m.Data))
	p.taken(l, m.Envelope)
	p.Recycle(m)
}

// receive carries on a receive that a message has matched. payload is the data, or
// where the sender has lent them.
func (p *Protocol) receive(c *channels.Comm, peer *variants.Peer, r *variants.Request, e variants.Envelope, size int,
	payload []byte) {
	r.Ticket = e.Ticket
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	if e.Kind != variants.RTS {
		if e.Kind != variants.Landed {
			p.choices.TookEager(r)
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
		if p.stands != nil {
			p.landed(slot, n)
		}
		return
	}
	switch c := p.Of(r.Ctx); {
	case r.Queued: // matched by its RTR alone
		p.In(c, r.Peer, r.Tag).Posted.Remove(r)
		r.Status.Source = r.Peer
	case r.Fetched:
		p.release(c, r)
	}
	p.Written(r, n)
}

// Probe implements variants.Protocol (thesis 3.12). It suspends nothing.
func (p *Protocol) Probe(ctx *variants.Context, src, tag int32) (st variants.Status, found bool, err error) {
	c := p.Of(ctx)
	if m := p.Oldest(c, src, tag); m != nil {
		return m.Status(), true, nil
	}
	return st, false, p.Hopeless(ctx, src)
}

// Extract implements variants.Protocol. The message takes its ticket now, so the
// numbers of later receives are right whenever it is received.
func (p *Protocol) Extract(ctx *variants.Context, src, tag int32) (m *variants.Message, found bool, err error) {
	c := p.Of(ctx)
	if m = p.Oldest(c, src, tag); m == nil {
		return nil, false, p.Hopeless(ctx, src)
	}
	l := p.Unqueue(c, m)
	if m.Kind == variants.Landed {
		m.Data = append(m.Data[:0], data(l, m.Envelope, m.Size, nil)...) // others wait for the buffer
		p.taken(l, m.Envelope)
	}
	ctx.Active++
	return m, true, nil
}

// PostMatched implements variants.Protocol.
func (p *Protocol) PostMatched(r *variants.Request, m *variants.Message) {
	p.BeginMatched(r, m)
	c := p.Of(r.Ctx)
	p.receive(c, p.Out.Peer(c.World(m.Src)), r, m.Envelope, m.Size, m.Data)
	p.Recycle(m)
}

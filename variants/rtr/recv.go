package rtr

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// The receiving side of thesis 3.2.3 and 3.2.4, and of 3.4.2.

// PostRecv implements variants.Protocol.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	p.Begin(r)
	if m := c.Post(p.Core, r); m != nil {
		p.receive(c, r, m.Envelope, m.Size, m.Data)
		p.Recycle(m)
		return
	}
	if r.Done {
		return
	}
	r.Ticket = p.next()
	switch {
	case r.Peer == variants.AnySource:
		c.suspended++
	case c.suspended == 0:
		p.advertise(c, r)
	}
}

func (p *Protocol) advertise(c *comm, r *variants.Request) {
	p.Advertise(p.dest(c, r.Peer).peer, c.Envelope(variants.RTR, r.Tag, r.Ticket), r)
}

// unsuspend notes that a receive is posted no more, perhaps one from any source.
func (p *Protocol) unsuspend(c *comm, r *variants.Request) {
	if r.Peer == variants.AnySource {
		p.resume(c)
	}
}

// resume ends one of the reasons for suspending RTRs. After the last the
// receives that are posted advertise, in posting order and before any newer one,
// or a message meant for them would be written into a newer receive.
func (p *Protocol) resume(c *comm) {
	if c.suspended--; c.suspended > 0 {
		return
	}
	for r := range c.Posted.All() {
		if !r.Advertised {
			p.Count.Lifted++
			p.advertise(c, r)
		}
	}
}

// arrive matches an EnvD or RTS, or keeps it.
func (p *Protocol) arrive(c *comm, e variants.Envelope, size int, payload []byte) {
	if r := c.Match(&p.Done, e.Src, e.Tag); r != nil {
		p.receive(c, r, e, size, payload)
		p.unsuspend(c, r)
		return
	}
	c.Arrived.Keep(p.Unexpected(e, size, payload))
}

// receive carries on a receive that a message has matched.
func (p *Protocol) receive(c *comm, r *variants.Request, e variants.Envelope, size int, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	peer := p.dest(c, e.Src).peer
	if e.Kind == variants.EnvD {
		p.Out.Consumed(peer, size)
		if !r.Advertised {
			p.Out.Control(peer, c.Envelope(variants.Ack, e.Tag, e.Ticket))
		}
		p.Fill(r, payload)
		return
	}
	if r.Advertised && (r.Slot >= 0 || size > r.Len() || r.NoRoom != nil) {
		p.Count.Crossings++
		p.announced(r)
		return
	}
	r.Announced = true
	p.Clear(peer, c.Envelope(variants.CTS, e.Tag, e.Ticket), r, size)
}

// announced notes that the RTS or Env of an advertised receive is here. It
// completes when the write has landed too, or at once if there will be none.
func (p *Protocol) announced(r *variants.Request) {
	r.Announced = true
	switch {
	case r.Status.Size > r.Len():
		p.Complete(r, variants.ErrTruncate)
	case r.NoRoom != nil:
		p.Complete(r, r.NoRoom)
	case r.Landed:
		p.Complete(r, nil)
	}
}

// onEnv takes the envelope of a write that no RTS has announced.
func (p *Protocol) onEnv(c *comm, e variants.Envelope, size int) {
	for r := range c.Posted.All() {
		if r.Advertised && r.Ticket == e.Ticket {
			c.Posted.Remove(r)
			r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
			p.announced(r)
			return
		}
	}
}

// Notified implements variants.Protocol. The receive completes when its RTS or
// Env is here too; without Env the notification says whether there will be one.
func (p *Protocol) Notified(slot int, n rdmaeng.Notification) {
	r := p.Exposed(slot)
	if r == nil {
		return
	}
	switch {
	case r.Announced:
		p.Written(r, n)
	case p.elide && n[2] == 0:
		p.comms.Of(r.Ctx).Posted.Remove(r)
		r.Status.Source = r.Peer
		p.Written(r, n)
	default:
		r.Landed = true
	}
}

// Probe implements variants.Protocol.
func (p *Protocol) Probe(ctx *variants.Context, src, tag int32) (variants.Status, bool, error) {
	return p.comms.Of(ctx).Probe(p.Core, ctx, src, tag)
}

// Extract implements variants.Protocol. Until the message is received its sender
// counts it among those that the next RTR is for. So there are none meanwhile.
func (p *Protocol) Extract(ctx *variants.Context, src, tag int32) (m *variants.Message, found bool, err error) {
	c := p.comms.Of(ctx)
	if m, found, err = c.Matching.Extract(p.Core, ctx, src, tag); found {
		c.suspended++
	}
	return m, found, err
}

// PostMatched implements variants.Protocol.
func (p *Protocol) PostMatched(r *variants.Request, m *variants.Message) {
	p.BeginMatched(r, m)
	c := p.comms.Of(r.Ctx)
	p.receive(c, r, m.Envelope, m.Size, m.Data)
	p.Recycle(m)
	p.resume(c)
}

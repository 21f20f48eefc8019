package rtr

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// The receiving side of thesis 3.2.3 and 3.2.4, and of 3.4.2.

// PostRecv implements variants.Protocol.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.comm(r.Ctx.ID)
	p.Begin(r)
	if m := c.Find(r.Peer, r.Tag); m != nil {
		c.Drop(m)
		p.receive(c, r, m.Envelope, m.Size, m.Data)
		return
	}
	if err := p.Hopeless(c.Context, r.Peer); err != nil {
		p.Complete(r, err)
		return
	}
	r.Ticket = p.next()
	c.Posted.Push(r)
	switch {
	case r.Peer == variants.AnySource:
		c.anySource++
	case c.anySource == 0:
		p.advertise(c, r)
	}
}

// advertise sends the RTR of a posted receive. Eager receives have no need of
// a write, but the sender must know of them.
func (p *Protocol) advertise(c *comm, r *variants.Request) {
	var w rdmaeng.Window
	if len(r.Buf) > p.Limit() {
		w = p.Expose(r)
	}
	r.Advertised = true
	p.Out.Control(p.peer(c, r.Peer), c.envelope(variants.RTR, r.Tag, r.Ticket), w.Addr, w.Notify, uint64(len(r.Buf)))
}

// unsuspend notes that a receive from any source is posted no more. After the
// last the others advertise, in posting order and before any newer one, or a
// message meant for them would be written into a newer receive.
func (p *Protocol) unsuspend(c *comm, r *variants.Request) {
	if r.Peer != variants.AnySource {
		return
	}
	if c.anySource--; c.anySource > 0 {
		return
	}
	for r := c.Posted.Head(); r != nil; r = r.Next() {
		if !r.Advertised {
			p.Count.Lifted++
			p.advertise(c, r)
		}
	}
}

// arrive matches an EnvD or RTS, or keeps it.
func (p *Protocol) arrive(c *comm, e variants.Envelope, size int, payload []byte) {
	if c.Context != nil {
		if r := c.Match(e.Src, e.Tag); r != nil {
			p.receive(c, r, e, size, payload)
			p.unsuspend(c, r)
			return
		}
	}
	c.Keep(e, size, payload)
}

// receive carries on a receive that a message has matched.
func (p *Protocol) receive(c *comm, r *variants.Request, e variants.Envelope, size int, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	peer := p.peer(c, e.Src)
	if e.Kind == variants.EnvD {
		p.Out.Consumed(peer, size)
		if !r.Advertised {
			p.Out.Control(peer, c.envelope(variants.Ack, e.Tag, e.Ticket))
		}
		if size > len(r.Buf) {
			p.Complete(r, variants.ErrTruncate)
			return
		}
		copy(r.Buf, payload)
		p.Complete(r, nil)
		return
	}
	if r.Advertised {
		p.Count.Crossings++
		p.announced(r)
		return
	}
	if peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	var w rdmaeng.Window
	if size <= len(r.Buf) {
		w = p.Expose(r)
	}
	r.Announced = true
	p.Out.Control(peer, c.envelope(variants.CTS, e.Tag, e.Ticket), w.Addr, w.Notify, uint64(len(r.Buf)))
	if size > len(r.Buf) {
		p.Complete(r, variants.ErrTruncate)
	}
}

// announced notes that the RTS or Env of an advertised receive is here. It
// completes when the write has landed too, or at once if there will be none.
func (p *Protocol) announced(r *variants.Request) {
	r.Announced = true
	if r.Status.Size > len(r.Buf) {
		p.Complete(r, variants.ErrTruncate)
	} else if r.Landed {
		p.Complete(r, nil)
	}
}

// onEnv takes the envelope of a write that no RTS has announced.
func (p *Protocol) onEnv(c *comm, e variants.Envelope, size int) {
	for r := c.Posted.Head(); r != nil; r = r.Next() {
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
		c := p.comm(r.Ctx.ID)
		c.Posted.Remove(r)
		r.Status.Source = r.Peer
		p.Written(r, n)
	default:
		r.Landed = true
	}
}

// Probe implements variants.Protocol.
func (p *Protocol) Probe(ctx *variants.Context, src, tag int32) (st variants.Status, found bool, err error) {
	c := p.comm(ctx.ID)
	if m := c.Find(src, tag); m != nil {
		return variants.Status{Source: m.Src, Tag: m.Tag, Size: m.Size}, true, nil
	}
	return st, false, p.Hopeless(c.Context, src)
}

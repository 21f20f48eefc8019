package ticket

import (
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
)

// The sending side of thesis 3.6.2 and 3.6.3.

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.eager(ctx, dst, tag, buf, false)
}

func (p *Protocol) eager(ctx *variants.Context, dst, tag int32, buf []byte, copied bool) bool {
	if len(buf) > p.Limit() {
		return false
	}
	l := p.NextTo(ctx, dst, tag)
	if !p.Out.EagerPacked(l.Peer, variants.EnvD, &l.Header, buf, copied) {
		return false
	}
	if p.UseTo(l) {
		// Eager sends of the thesis leave stale advertisements to the next
		// long one (fig. 3.28).
		p.Count.StaleRTRs++
	}
	return true
}

// PostSend posts a send.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.Of(r.Ctx)
	l := p.To(c, r.Peer, r.Tag)
	p.Begin(r)
	if l.Peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		c.RemoveOut(l)
		return
	}
	if r.Mode == variants.Standard && r.Len() <= p.Limit() && p.eager(r.Ctx, r.Peer, r.Tag, r.Buf, true) {
		p.Complete(r, nil)
		return
	}
	p.Number(l, r)
	if a, ok := p.Stored(l, r.Ticket); ok {
		p.Count.FastReceives++
		p.fast(c, l, r, a)
		return
	}
	if l.Remote.Takes(r) {
		p.stand(l, r)
		return
	}
	if r.Len() <= p.Limit() {
		if r.Mode == variants.Synchronous && p.Out.Eager(l.Peer, c.Envelope(variants.EnvDS, r.Tag, r.Ticket), r.Buf,
			true) {
			r.Delivered = true
			l.Posted.Push(r)
			p.Await(l.Peer)
			return
		}
		p.Count.NoCredit++
		p.Await(l.Peer)
	}
	if p.leavesCopy(r) {
		if s := p.StandIn(r); s != nil {
			p.announce(c, l, s)
			l.Posted.Push(s)
			return
		}
	}
	p.Announce(l.Peer, c.Envelope(variants.RTS, r.Tag, r.Ticket), r)
	l.Posted.Push(r)
}

// fast sends to a receive that was advertised before the send was posted.
func (p *Protocol) fast(c *channels.Comm, l *channels.Out, r *variants.Request, a channels.Advertised) {
	if r.Len() <= p.Limit() && p.Out.Eager(l.Peer, c.Envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf, true) {
		p.Complete(r, nil) // a synchronous send: the receive is known to be posted
		return
	}
	p.choices.ReceiverFirst(r)
	p.Write(l.Peer, r, a.Room, false)
}

// onRTR takes the advertisement of a receive (thesis 3.6.3).
func (p *Protocol) onRTR(c *channels.Comm, e variants.Envelope, payload []byte) {
	l := p.To(c, e.Src, e.Tag)
	a := channels.Advertised{Room: variants.Advertised(payload), Ticket: e.Ticket}
	if r := l.Posted.Find(&p.Done, e.Ticket); r != nil {
		if r.Copy && r.Slot >= 0 {
			return // the receiver has it read
		}
		l.Posted.Remove(r)
		if r.Delivered {
			p.Complete(r, nil) // the EnvDS is on its way to that receive
			return
		}
		p.choices.BothAtOnce(r)
		p.Write(l.Peer, r, a.Room, true)
		return
	}
	if !p.Store(l, a) {
		p.Count.StaleRTRs++ // it was for an eager send
	}
}

// onCTS takes the answer to an RTS.
func (p *Protocol) onCTS(c *channels.Comm, e variants.Envelope, payload []byte) {
	l := p.To(c, e.Src, e.Tag)
	if r := l.Posted.Find(&p.Done, e.Ticket); r != nil {
		l.Posted.Remove(r)
		p.choices.SenderFirst(r)
		p.Cleared(l.Peer, r, variants.RoomOf(payload))
	}
}

// onAck takes the answer to an EnvDS (thesis 3.10), and to an RTS that offered a copy.
func (p *Protocol) onAck(c *channels.Comm, e variants.Envelope) {
	l := p.To(c, e.Src, e.Tag)
	if r := l.Posted.Find(&p.Done, e.Ticket); r != nil {
		l.Posted.Remove(r)
		if r.Copy {
			p.released(e, r)
		}
		p.Complete(r, nil)
	}
}

package ticket

import "github.com/exanet-mpi/exanet/variants"

// The sending side of thesis 3.6.2 and 3.6.3.

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.eager(ctx, dst, tag, buf, false)
}

func (p *Protocol) eager(ctx *variants.Context, dst, tag int32, buf []byte, copied bool) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comms.Of(ctx)
	l := p.lookOut(c, dst, tag)
	if l.Granted {
		p.lessee.Number(&l.Lease)
	}
	l.drop()
	variants.Number(&l.header, l.Next) // where nothing has come between it has that number
	if !p.Out.EagerPacked(l.peer, variants.EnvD, &l.header, buf, copied) {
		return false
	}
	if l.Next++; l.Granted {
		p.lessee.Renumber(&l.Lease)
	}
	variants.Number(&l.header, l.Next) // now, so that it has left the store buffer when it is copied
	p.Done.Tickets++
	if len(l.rtrs) > 0 {
		// Eager sends of the thesis leave stale advertisements to the next
		// long one (fig. 3.28); to look at an empty list costs nothing.
		if _, ok := p.take(l, l.Next-1); ok {
			p.Count.StaleRTRs++
		}
	}
	return true
}

// PostSend posts a send.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	l := p.outChannel(c, r.Peer, r.Tag)
	p.Begin(r)
	if l.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		c.removeOut(l)
		return
	}
	if r.Mode == variants.Standard && r.Len() <= p.Limit() && p.eager(r.Ctx, r.Peer, r.Tag, r.Buf, true) {
		p.Complete(r, nil)
		return
	}
	l.drop()
	r.Ticket = l.Next
	l.Next++
	p.Done.Tickets++
	if a, ok := p.take(l, r.Ticket); ok {
		p.Count.FastReceives++
		p.fast(c, l, r, a)
		return
	}
	if l.remote.takes(r) {
		p.write(l.remote, r)
		return
	}
	if r.Len() <= p.Limit() {
		if r.Mode == variants.Synchronous && p.Out.Eager(l.peer, c.Envelope(variants.EnvDS, r.Tag, r.Ticket), r.Buf,
			true) {
			r.Delivered = true
			l.posted.Push(r)
			p.Await(l.peer)
			return
		}
		p.Count.NoCredit++
		p.Await(l.peer)
	}
	if p.leavesCopy(c, r) {
		if s := p.StandIn(r); s != nil {
			p.announce(c, l, s)
			l.posted.Push(s)
			return
		}
	}
	p.Announce(l.peer, c.Envelope(variants.RTS, r.Tag, r.Ticket), r)
	l.posted.Push(r)
}

// fast sends to a receive that was advertised before the send was posted.
func (p *Protocol) fast(c *comm, l *outChannel, r *variants.Request, a rtr) {
	if r.Len() <= p.Limit() && p.Out.Eager(l.peer, c.Envelope(variants.EnvD, r.Tag, r.Ticket), r.Buf, true) {
		p.Complete(r, nil) // a synchronous send: the receive is known to be posted
		return
	}
	p.receiverFirst(c, r)
	p.Write(l.peer, r, a.Room, false)
}

// onRTR takes the advertisement of a receive (thesis 3.6.3).
func (p *Protocol) onRTR(c *comm, e variants.Envelope, payload []byte) {
	l := p.outChannel(c, e.Src, e.Tag)
	a := rtr{variants.Advertised(payload), e.Ticket}
	if r := l.posted.Find(&p.Done, e.Ticket); r != nil {
		if r.Copy && r.Slot >= 0 {
			return // the receiver has it read
		}
		l.posted.Remove(r)
		if r.Delivered {
			p.Complete(r, nil) // the EnvDS is on its way to that receive
			return
		}
		p.bothAtOnce(c, r)
		p.Write(l.peer, r, a.Room, true)
		return
	}
	if before(e.Ticket, l.Next) {
		p.Count.StaleRTRs++ // it was for an eager send
		return
	}
	l.rtrs = append(l.rtrs, a)
	p.Done.Objects++
}

// onCTS takes the answer to an RTS.
func (p *Protocol) onCTS(c *comm, e variants.Envelope, payload []byte) {
	l := p.outChannel(c, e.Src, e.Tag)
	if r := l.posted.Find(&p.Done, e.Ticket); r != nil {
		l.posted.Remove(r)
		p.senderFirst(c, r)
		p.Cleared(l.peer, r, variants.RoomOf(payload))
	}
}

// onAck takes the answer to an EnvDS (thesis 3.10), and to an RTS that offered a copy.
func (p *Protocol) onAck(c *comm, e variants.Envelope) {
	l := p.outChannel(c, e.Src, e.Tag)
	if r := l.posted.Find(&p.Done, e.Ticket); r != nil {
		l.posted.Remove(r)
		if r.Copy {
			p.released(c, e, r)
		}
		p.Complete(r, nil)
	}
}

// drop moves the next ticket past those of cancelled receives.
func (l *outChannel) drop() {
	if len(l.skip) > 0 {
		l.Next = l.skip.pass(l.Next)
	}
}

// take returns the stored advertisement with the ticket of a send. Those before it are gone:
// the send with that number has taken each, or it has been cancelled.
func (p *Protocol) take(l *outChannel, ticket uint32) (a rtr, ok bool) {
	p.Done.Searched++
	if len(l.rtrs) == 0 || l.rtrs[0].ticket != ticket {
		return a, false
	}
	a = l.rtrs[0]
	l.rtrs = l.rtrs[:copy(l.rtrs, l.rtrs[1:])]
	return a, true
}

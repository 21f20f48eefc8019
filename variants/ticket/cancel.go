package ticket

import "github.com/exanet-mpi/exanet/variants"

// Cancelling.
//
// A receive that has a ticket has promised to take the send with that number,
// even if it sent no RTR: the receives behind it are numbered on. To cancel it
// the receiver asks the sender to skip the ticket. If the sender has not used it
// yet, it never will, and drops the stored RTR; all other tickets stay as they
// are, so nobody renumbers anything. If it has, the message or write is on its
// way, the receive will complete, and the sender refuses.
//
// A send is cancelled in the same way: if its RTS or EnvDS is still unexpected
// at the receiver, the receiver removes it and skips the ticket.
//
// A receive without a ticket is known to nobody and is taken back at once.
//
// The question is urgent: MPI promises that a cancelled request completes
// without the peer calling MPI, so the peer's background progress must answer.

const granted = 1 // flag of CancelReply
const forSend = 2 // flag of CancelReply: it answers CancelSend

// Cancel asks for r, which has been posted, to be taken back. The request
// completes in any case: cancelled, or as if nothing had been asked.
func (p *Protocol) Cancel(r *variants.Request) {
	if r.Done || r.Cancelling {
		return
	}
	if !r.Queued {
		p.Count.CancelsRefused++
		return // matched
	}
	c := p.comm(r.Ctx.ID)
	kind := variants.CancelSend
	var peer *variants.Peer
	if r.Recv {
		if !r.Ticketed {
			p.takeBack(c, r)
			p.Cancelled(r)
			return
		}
		kind = variants.CancelRecv
		peer = c.inLane(r.Peer, r.Tag).peer
	} else {
		peer = c.outLane(r.Peer, r.Tag).peer
	}
	peer = p.peerOf(c, &peer, r.Peer)
	p.Out.Control(peer, c.envelope(kind, r.Tag, r.Ticket), uint64(p.Me), uint64(uint32(r.Peer)))
	p.Ask(r, peer)
}

// takeBack removes a receive without a ticket from its queue.
func (p *Protocol) takeBack(c *comm, r *variants.Request) {
	if r.Peer == variants.AnySource || r.Tag == variants.AnyTag {
		p.removeWild(c, r)
		return
	}
	l := c.inLane(r.Peer, r.Tag)
	l.posted.Remove(r)
	l.unticketed--
}

// reply answers a cancel message, also for a communicator that this rank has
// not opened yet.
func (p *Protocol) reply(c *comm, e variants.Envelope, payload []byte, flags uint8) {
	world := int32(variants.Word(payload, 0))
	src := p.Me
	if c.Context != nil {
		src = c.Rank
	} else {
		src = int32(variants.Word(payload, 1))
	}
	p.Out.Control(p.Out.Peer(world), variants.Envelope{Kind: variants.CancelReply, Flags: flags,
		Ctx: e.Ctx, Src: src, Tag: e.Tag, Ticket: e.Ticket})
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	l := c.outLane(e.Src, e.Tag)
	flags := uint8(0)
	if !before(e.Ticket, l.next) {
		flags = granted
		l.skip.add(e.Ticket)
		for i := range l.rtrs {
			if l.rtrs[i].ticket == e.Ticket {
				l.rtrs = append(l.rtrs[:i], l.rtrs[i+1:]...)
				break
			}
		}
	}
	p.reply(c, e, payload, flags)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	l := c.inLane(e.Src, e.Tag)
	flags := uint8(forSend)
	for m := l.unexpected.head; m != nil; m = m.inLane.next {
		if m.ticket == e.Ticket {
			flags |= granted
			c.forgetMessage(m)
			l.skip.add(m.ticket)
			l.next = l.skip.pass(l.next)
			if m.kind == variants.EnvDS {
				p.Out.Consumed(p.Out.Peer(int32(variants.Word(payload, 0))), m.size)
			}
			p.recycle(m)
			break
		}
	}
	p.reply(c, e, payload, flags)
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	var q *variants.Queue
	if e.Flags&forSend != 0 {
		q = &c.outLane(e.Src, e.Tag).posted
	} else {
		q = &c.inLane(e.Src, e.Tag).posted
	}
	r := q.Head()
	for r != nil && !(r.Cancelling && r.Ticket == e.Ticket) {
		r = r.Next()
	}
	if r == nil {
		return // completed before the answer came
	}
	p.Answered(r)
	if e.Flags&granted == 0 {
		p.Count.CancelsRefused++
		return
	}
	q.Remove(r)
	p.Cancelled(r)
}

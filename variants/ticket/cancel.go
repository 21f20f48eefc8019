package ticket

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

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

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if !p.Cancellable(r) {
		return
	}
	c := p.comms.Of(r.Ctx)
	switch {
	case !r.Recv:
		p.AskCancel(p.outChannel(c, r.Peer, r.Tag).peer, c.Envelope(variants.CancelSend, r.Tag, r.Ticket), r)
	case r.Ticketed:
		p.revoke(p.inChannel(c, r.Peer, r.Tag).landing)
		p.AskCancel(p.inChannel(c, r.Peer, r.Tag).peer, c.Envelope(variants.CancelRecv, r.Tag, r.Ticket), r)
	default:
		p.takeBack(c, r)
		p.Cancelled(r)
	}
}

// takeBack removes a receive without a ticket from its queue.
func (p *Protocol) takeBack(c *comm, r *variants.Request) {
	if r.Peer == variants.AnySource || r.Tag == variants.AnyTag {
		p.removeWild(c, r)
		return
	}
	l := p.inChannel(c, r.Peer, r.Tag)
	l.posted.Remove(r)
	l.unticketed--
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	l := p.outChannel(c, e.Src, e.Tag)
	unused := !before(e.Ticket, l.Next)
	if unused {
		l.skip.add(e.Ticket)
		l.rtrs = slices.DeleteFunc(l.rtrs, func(a rtr) bool { return a.ticket == e.Ticket })
	}
	p.AnswerCancel(l.peer, c.Envelope(variants.CancelRecv, e.Tag, e.Ticket), payload, unused)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	l := p.inChannel(c, e.Src, e.Tag)
	m := l.unexpected.First()
	for m != nil && m.Ticket != e.Ticket {
		m = m.InChannel.Next()
	}
	if m != nil {
		c.drop(l, m)
		l.skip.add(m.Ticket)
		l.Next = l.skip.pass(l.Next)
		if m.Kind == variants.EnvDS {
			p.Out.Consumed(l.peer, m.Size)
		}
		p.Recycle(m)
	}
	p.AnswerCancel(l.peer, c.Envelope(variants.CancelSend, e.Tag, e.Ticket), payload, m != nil)
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	// A peer that has closed the communicator says yes to everything. What it
	// has written before is here.
	p.Look(p.Notified)
	q := &p.inChannel(c, e.Src, e.Tag).posted
	if e.Flags&variants.ForSend != 0 {
		q = &p.outChannel(c, e.Src, e.Tag).posted
	}
	r := q.Head()
	for r != nil && !(r.Cancelling && r.Ticket == e.Ticket) {
		r = r.Next()
	}
	if p.CancelAnswered(e, r) {
		q.Remove(r)
		p.Cancelled(r)
	}
}

package ticket

import (
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
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
	c := p.Of(r.Ctx)
	switch {
	case !r.Recv:
		p.AskCancel(p.To(c, r.Peer, r.Tag).Peer, c.Envelope(variants.CancelSend, r.Tag, r.Ticket), r)
	case r.Ticketed:
		l := p.In(c, r.Peer, r.Tag)
		p.revoke(l.Landing)
		p.AskCancel(l.Peer, c.Envelope(variants.CancelRecv, r.Tag, r.Ticket), r)
	default:
		p.TakeBack(r)
		p.Cancelled(r)
	}
}

func (p *Protocol) onCancelRecv(c *channels.Comm, e variants.Envelope, payload []byte) {
	l := p.To(c, e.Src, e.Tag)
	p.AnswerCancel(l.Peer, c.Envelope(variants.CancelRecv, e.Tag, e.Ticket), payload, l.SkipSend(e.Ticket))
}

func (p *Protocol) onCancelSend(c *channels.Comm, e variants.Envelope, payload []byte) {
	l := p.In(c, e.Src, e.Tag)
	m := c.SkipReceive(l, e.Ticket)
	if m != nil {
		if m.Kind == variants.EnvDS {
			p.Out.Consumed(l.Peer, m.Size)
		}
		p.Recycle(m)
	}
	p.AnswerCancel(l.Peer, c.Envelope(variants.CancelSend, e.Tag, e.Ticket), payload, m != nil)
}

func (p *Protocol) onCancelReply(c *channels.Comm, e variants.Envelope) {
	// A peer that has closed the communicator says yes to everything. What it
	// has written before is here.
	p.Look(p.Notified)
	q := &p.In(c, e.Src, e.Tag).Posted
	if e.Flags&variants.ForSend != 0 {
		q = &p.To(c, e.Src, e.Tag).Posted
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

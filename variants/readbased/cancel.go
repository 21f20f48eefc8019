package readbased

import "github.com/exanet-mpi/exanet/variants"

// Cancelling. A posted receive is known to nobody else and is taken back at
// once. A send is taken back if the receiver finds its RTS or EnvDS still
// unexpected.

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if !p.Cancellable(r) {
		return
	}
	c := p.comms.Of(r.Ctx)
	if r.Recv {
		c.Posted.Remove(r)
		p.Cancelled(r)
		return
	}
	p.AskCancel(p.peer(c, r.Peer), c.Envelope(variants.CancelSend, r.Tag, r.Ticket), r)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	peer := p.peer(c, e.Src)
	p.AnswerCancel(peer, e, payload, p.TakeBack(peer, &c.Arrived, e))
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	if r := c.sends.Find(&p.Done, e.Ticket); p.CancelAnswered(e, r) {
		c.sends.Remove(r)
		p.Cancelled(r)
	}
}

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	if !p.Died(int32(world)) {
		return
	}
	for c := range p.comms.All() {
		p.FailHopeless(&c.sends)
		p.FailHopeless(&c.Posted)
	}
}

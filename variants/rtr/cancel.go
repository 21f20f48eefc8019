package rtr

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// Cancelling. A receive that is advertised can be taken back only while its RTR
// is unmatched at the sender, and a send only while its message is unexpected at
// the receiver; so the other side is asked. Whoever has matched the request
// refuses, and the request completes. A receive that is not advertised is known
// to nobody.

// Cancel implements variants.Protocol.
func (p *Protocol) Cancel(r *variants.Request) {
	if !p.Cancellable(r) {
		return
	}
	c := p.comms.Of(r.Ctx)
	if r.Recv && !r.Advertised {
		c.Posted.Remove(r)
		p.Cancelled(r)
		p.unsuspend(c, r)
		return
	}
	kind := variants.CancelSend
	if r.Recv {
		kind = variants.CancelRecv
	}
	p.AskCancel(p.dest(c, r.Peer).peer, c.Envelope(kind, r.Tag, r.Ticket), r)
}

func (p *Protocol) onCancelRecv(c *comm, e variants.Envelope, payload []byte) {
	d := p.dest(c, e.Src)
	i := slices.IndexFunc(d.rtrs, func(a rtr) bool { return a.number == e.Ticket })
	if i >= 0 {
		d.rtrs = slices.Delete(d.rtrs, i, i+1)
	}
	p.AnswerCancel(d.peer, e, payload, i >= 0)
}

func (p *Protocol) onCancelSend(c *comm, e variants.Envelope, payload []byte) {
	peer := p.dest(c, e.Src).peer
	p.AnswerCancel(peer, e, payload, p.TakeBack(peer, &c.Arrived, e))
}

func (p *Protocol) onCancelReply(c *comm, e variants.Envelope) {
	if e.Flags&variants.ForSend != 0 {
		d := p.dest(c, e.Src)
		if s := d.find(&p.Done, e.Ticket); s != nil && p.CancelAnswered(e, s.r) {
			d.remove(s)
			p.Cancelled(s.r)
		}
		return
	}
	if r := c.Posted.Find(&p.Done, e.Ticket); p.CancelAnswered(e, r) {
		c.Posted.Remove(r)
		p.Cancelled(r)
	}
}

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	for c := range p.comms.All() {
		for d := range variants.InOrder(c.dests) {
			if d.peer.World != w {
				continue
			}
			d.rtrs = nil
			for s := d.posted.First(); s != nil; s = d.posted.First() {
				d.remove(s)
				if s.r != nil {
					p.Complete(s.r, variants.ErrPeerDied)
				}
			}
		}
		for r := range c.Posted.All() {
			if p.Hopeless(c.Context, r.Peer) != nil {
				p.FailOne(&c.Posted, r)
				p.unsuspend(c, r)
			}
		}
	}
}

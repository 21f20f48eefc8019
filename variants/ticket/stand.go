package ticket

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
	"github.com/exanet-mpi/exanet/variants/standing"
)

// Buffers that stand: what is sent about them, and what is sent into them. Package standing has their order and their
// end.

// repeats takes note of a receive that is about to be posted: buffers are given if it repeats others, and revoked if
// it does not.
func (p *Protocol) repeats(c *channels.Comm, l *channels.In, r *variants.Request) {
	if p.stands == nil || r.Len() <= p.Limit() {
		return
	}
	if !l.Repeats.Again(r.Home) {
		p.revoke(l.Landing)
	}
	if !l.Landing.Over() || l.Forgetting || l.World == p.Me || l.Peer.Failed || !p.stands.Repeated(l.Repeats, r.Len()) {
		return
	}
	if g, words := p.stands.Give(c.Context, l.Src, l.Tag, l.Peer, r.Len()); g != nil {
		l.Landing = g
		p.Out.Control(l.Peer, c.Envelope(variants.Stand, l.Tag, g.Number), words...)
	}
}

// landed takes the notification of a write into a buffer that stands.
func (p *Protocol) landed(slot int, n rdmaeng.Notification) {
	x := p.stands.Landed(slot, n)
	for x != nil {
		u, ok := x.Next()
		if !ok {
			return
		}
		if u.Ctx != nil {
			e := u.Ctx.Envelope(variants.Landed, u.Tag, u.Ticket)
			e.Src, e.Flags = u.Src, u.Buffer
			p.arrive(p.Of(u.Ctx), e, u.Size, nil)
		}
	}
}

// data is what an EnvD has brought, or what lies in a buffer that stands.
func data(l *channels.In, e variants.Envelope, size int, payload []byte) []byte {
	if e.Kind == variants.Landed {
		return l.Landing.Message(e.Flags, size)
	}
	return payload
}

// taken ends a use of a channel's buffers, whose message has been received.
func (p *Protocol) taken(l *channels.In, e variants.Envelope) {
	if e.Kind == variants.Landed && p.stands.Taken(l.Landing) {
		p.tell(l.Landing)
	}
}

// tell says how many uses of buffers are over.
func (p *Protocol) tell(g *standing.Landing) {
	p.Out.Control(g.Peer(), variants.Envelope{Kind: variants.Freed, Ticket: g.Number}, uint64(g.Tell()))
}

// hungers takes note of an RTS for so many bytes.
func (p *Protocol) hungers(g *standing.Landing, size int) {
	if g.Hungers(size) {
		p.tell(g)
	}
}

// revoke asks for buffers back, if there are any.
func (p *Protocol) revoke(g *standing.Landing) {
	if g.Revoke() {
		p.Out.Control(g.Peer(), g.Ctx.Envelope(variants.Revoke, g.Tag, g.Number))
	}
}

// closeStands ends what a communicator has of buffers.
func (p *Protocol) closeStands(c *channels.Comm) {
	if p.stands == nil {
		return
	}
	for _, l := range c.Receiving() {
		p.revoke(l.Landing)
		p.stands.Abandon(l.Landing)
	}
	p.stands.Forget(c.Context)
}

// standing takes the messages about buffers that stand which are for no communicator.
func (p *Protocol) standing(h packetizer.Header, payload []byte) bool {
	switch e := variants.Unpack(h); e.Kind {
	case variants.Freed:
		p.stands.Partner(p.Out.Peer(e.Src)).Freed(e.Ticket, uint32(variants.Word(payload, 0)))
	case variants.Revoked:
		p.stands.Withdraw(e.Ticket)
	default:
		return false
	}
	return true
}

// onStand takes the buffers that a receiver gives.
func (p *Protocol) onStand(c *channels.Comm, e variants.Envelope, payload []byte) {
	l := p.To(c, e.Src, e.Tag)
	l.Remote = p.stands.Partner(l.Peer).Got(c.Context, e.Ticket, payload)
}

// onRevoke drops buffers. The answer leaves when all that has been written to that rank is done.
func (p *Protocol) onRevoke(c *channels.Comm, e variants.Envelope) {
	l := p.To(c, e.Src, e.Tag)
	l.Remote = nil
	p.stands.Partner(l.Peer).Drop(e.Ticket)
	p.Out.Control(l.Peer, variants.Envelope{Kind: variants.Revoked, Ticket: e.Ticket})
}

// stand sends into the next of the buffers that stand.
func (p *Protocol) stand(l *channels.Out, r *variants.Request) {
	to, n := l.Remote.Use(r)
	p.Count.Standing++
	p.WriteBefore(l.Peer, r, to, n)
}

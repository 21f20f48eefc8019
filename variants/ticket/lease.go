package ticket

import "github.com/exanet-mpi/exanet/variants"

// A channel is leased when a call on it ends and nothing is under way there. The lease is
// revoked when something gets under way on the channel, or concerns all channels of a
// communicator: a posted wildcard, its end, the death of a peer. A message that is sent or
// received at once leaves the lease, and has a number of it.

// LeaseTo implements variants.Lessor.
func (p *Protocol) LeaseTo(f variants.FastPath) {
	p.lessee = f
	p.Out.MoveAccounts(f.Account)
}

// LeaseOut implements variants.Lessor.
func (p *Protocol) LeaseOut(ctx *variants.Context, dst, tag int32, name uint64) {
	c := p.comms.Of(ctx)
	l := p.lookOut(c, dst, tag)
	if l.Granted || !l.idle() || l.peer.Failed {
		return
	}
	e := c.Envelope(variants.EnvD, tag, l.Next)
	e.Src = p.Me
	p.lessee.Grant(&l.Lease, variants.Channel{Sends: true, Name: name, Peer: dst, World: l.peer.World, Envelope: e})
}

// LeaseIn implements variants.Lessor.
func (p *Protocol) LeaseIn(ctx *variants.Context, src, tag int32, name uint64) {
	c := p.comms.Of(ctx)
	if c.wild.Head() != nil {
		return
	}
	l := p.lookIn(c, src, tag)
	if l.Granted || !l.idle() || l.peer.Failed {
		return
	}
	e := c.Envelope(variants.EnvD, tag, l.Next)
	e.Src = l.world
	p.lessee.Grant(&l.Lease, variants.Channel{Name: name, Peer: src, World: l.world, Envelope: e})
}

// RevokeAll implements variants.Lessor.
func (p *Protocol) RevokeAll() {
	p.revokeIn()
	if p.lessee != nil {
		p.lessee.RevokeAll(true)
	}
}

// revokeIn takes all channels to receive on back.
func (p *Protocol) revokeIn() {
	if p.lessee != nil {
		p.lessee.RevokeAll(false)
	}
}

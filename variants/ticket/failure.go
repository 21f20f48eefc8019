package ticket

import "github.com/exanet-mpi/exanet/variants"

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	p.RevokeAll()
	p.failStands(w)
	for c := range p.comms.All() {
		for _, l := range c.out {
			if l.peer.World == w {
				p.Fail(&l.posted)
				c.removeOut(l)
			}
		}
		for _, l := range c.in {
			if l.world == w {
				p.Fail(&l.posted)
				l.unticketed = 0
				if l.forgetting {
					l.forgetting = false
					c.asked--
				}
				c.tidy(l)
			}
		}
		for r := range c.wild.All() {
			if p.Hopeless(c.Context, r.Peer) != nil {
				p.removeWild(c, r)
				p.Complete(r, variants.ErrPeerDied)
			}
		}
	}
}

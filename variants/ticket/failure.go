package ticket

import "github.com/exanet-mpi/exanet/variants"

// PeerFailed ends every request that waits for a rank of the job that has
// died. The caller has delivered all that the rank sent before. The rank does
// not write any more.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	for _, c := range p.comms {
		if c.Context == nil {
			continue
		}
		for _, l := range c.out {
			if c.World(l.dst) == w {
				l.rtrs = nil
				p.Fail(&l.posted)
			}
		}
		for _, l := range c.in {
			if c.World(l.src) == w {
				p.Fail(&l.posted)
				l.unticketed = 0
			}
		}
		for r := c.wild.Head(); r != nil; {
			next := r.Next()
			if p.Hopeless(c.Context, r.Peer) != nil {
				p.removeWild(c, r)
				p.Complete(r, variants.ErrPeerDied)
			}
			r = next
		}
	}
}

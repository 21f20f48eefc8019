package ticket

import "github.com/exanet-mpi/exanet/variants"

// PeerFailed ends every request that waits for a rank of the job that has
// died. The caller has delivered all that the rank sent before. The rank does
// not write any more.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if p.failed[w] {
		return
	}
	p.failed[w] = true
	p.out.Peer(w).Failed = true
	for _, c := range p.comms {
		if c.Context == nil {
			continue
		}
		for _, l := range c.out {
			if c.World(l.dst) == w {
				l.rtrs = nil
				p.fail(&l.posted)
			}
		}
		for _, l := range c.in {
			if c.World(l.src) == w {
				p.fail(&l.posted)
				l.unticketed = 0
			}
		}
		for r := c.wild.Head(); r != nil; {
			next := r.Next()
			if p.hopeless(c, r.Peer) != nil {
				p.removeWild(c, r)
				p.complete(r, variants.ErrPeerDied)
			}
			r = next
		}
	}
	// Receives that the rank has been told to write into.
	for _, r := range p.slots {
		if r != nil && !r.Queued && r.Ctx.World(r.Status.Source) == w {
			p.complete(r, variants.ErrPeerDied)
		}
	}
}

// hopeless returns an error if a receive from src can not be relied upon to
// complete since a rank that it could match has died.
func (p *Protocol) hopeless(c *comm, src int32) error {
	if src != variants.AnySource {
		if p.failed[c.World(src)] {
			return variants.ErrPeerDied
		}
		return nil
	}
	for w := range p.failed {
		if c.Group == nil {
			return variants.ErrPeerDied
		}
		for _, g := range c.Group {
			if g == w {
				return variants.ErrPeerDied
			}
		}
	}
	return nil
}

func (p *Protocol) fail(q *variants.Queue) {
	for r := q.Head(); r != nil; r = q.Head() {
		q.Remove(r)
		p.complete(r, variants.ErrPeerDied)
	}
}

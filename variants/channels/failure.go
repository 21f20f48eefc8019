package channels

import "github.com/exanet-mpi/exanet/variants"

// FailPeer ends what waits for a rank of the job that has died.
func (t *Table) FailPeer(world int32) {
	t.RevokeAll()
	for c := range t.comms.All() {
		for l := range variants.InOrder(c.out) {
			if l.Peer.World == world {
				t.Fail(&l.Posted)
				c.RemoveOut(l)
			}
		}
		for l := range variants.InOrder(c.in) {
			if l.World == world {
				t.Fail(&l.Posted)
				l.unticketed = 0
				if l.Forgetting {
					l.Forgetting = false
					c.asked--
				}
				c.Tidy(l)
			}
		}
		for r := range c.wild.All() {
			if t.Hopeless(c.Context, r.Peer) != nil {
				t.removeWild(c, r)
				t.Complete(r, variants.ErrPeerDied)
			}
		}
	}
}

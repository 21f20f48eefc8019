package mpi

import (
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/internal/checking"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/variants"
)

// The contexts of communicators: their numbers are those of package commid.

// propose takes an ID for what op is to make of c.
func (c *Comm) propose(op string) (commid.ID, error) {
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	d, err := c.rank.idents.Take(commid.WithArea, commid.WithoutArea)
	if err != nil {
		err = c.tooMany(op)
	}
	return d, err
}

func (c *Comm) tooMany(op string) error {
	return c.fail(op, noValue, noValue, noValue, ErrTooMany, "free communicators that are not needed")
}

// withdraw takes back a proposal that no rank has accepted.
func (k *rank) withdraw(d commid.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idents.Return(d)
}

// open makes the contexts of a communicator in which this process is rank me
// and exchanges messages with the ranks of peers.
func (k *rank) open(d commid.ID, peers *group.Group, me int) (p2p, coll *variants.Context) {
	k.mu.Lock() // the background runs already: another rank may have died
	defer k.mu.Unlock()
	return k.contexts(d, peers, me)
}

// contexts is open with the lock held.
func (k *rank) contexts(d commid.ID, peers *group.Group, me int) (p2p, coll *variants.Context) {
	p2p = &variants.Context{ID: d.Number, Gen: d.Gen, Rank: int32(me), Group: peers}
	coll = &variants.Context{ID: d.Number | 1, Gen: d.Gen, Rank: int32(me), Group: peers, Tags: collNames}
	k.proto.Open(p2p)
	k.proto.Open(coll)
	if k.check != nil {
		p2p.Extra = checking.CardSize
		k.check.contexts = append(k.check.contexts, p2p)
	}
	return p2p, coll
}

// shut closes a communicator that has been freed: at once, or when the last
// request that is pending on it has completed.
func (k *rank) shut(c *Comm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.retire(c)
}

// retire is shut with the lock held.
func (k *rank) retire(c *Comm) {
	k.fast.retract(c)
	k.closing = append(k.closing, c)
	k.reap()
}

// reap closes the freed communicators on which nothing is pending any more. The
// caller holds the lock.
func (k *rank) reap() {
	keep := k.closing[:0]
	for _, c := range k.closing {
		if c.p2p.Active+c.coll.Active+c.turns.underWay > 0 {
			keep = append(keep, c)
			continue
		}
		if k.check != nil {
			k.check.forget(c.p2p)
		}
		k.proto.Close(c.p2p)
		k.proto.Close(c.coll)
		if c.id.Leader() == k.fab.Rank() && !c.spoiled {
			k.idents.Release(c.id)
		}
	}
	clear(k.closing[len(keep):])
	k.closing = keep
}

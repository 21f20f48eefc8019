package mpi

import (
	"slices"

	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/variants"
)

// A communicator's messages carry the number of its context, which its members
// agree upon without anything that all ranks share: the rank that leads it, its
// rank 0, owns the number.
//
//	bits 16-31  the leader's rank in the job
//	bits  1-15  a slot that is free at the leader
//	bit      0  0: point to point, 1: collectives
//
// The leader uses a slot again as soon as it has freed the communicator, while
// others may still hold messages or RTRs of it. So a slot has a generation,
// which messages carry as well: those of a generation that is closed are
// dropped. A leader returns from making a communicator only when all members
// have opened it. Therefore each rank opens the generations of a slot in rising
// order, and needs to remember no more than the highest one that it has closed.

// ident is what tells a communicator from all others.
type ident struct {
	number uint32 // of its point-to-point context
	gen    uint32
}

const (
	slots       = 1 << 15
	generations = 1 << 23 // protocols compare them as serial numbers of 24 bits
	worldSlot   = 0       // of rank 0
	selfSlot    = 1       // of every rank
)

func (d ident) leader() int { return int(d.number >> 16) }
func (d ident) slot() int   { return int(d.number >> 1 & (slots - 1)) }

// word and identOf bring an ident through a message.
func (d ident) word() int64 { return int64(uint64(d.number) | uint64(d.gen)<<32) }

func identOf(word int64) ident { return ident{number: uint32(word), gen: uint32(word >> 32)} }

func newIdent(leader, slot int, gen uint32) ident {
	return ident{number: uint32(leader)<<16 | uint32(slot)<<1, gen: gen}
}

// supply has the slots of a rank. The last freed is the first used again, so
// that the ranks see few numbers, unless it is not vacant yet.
type supply struct {
	leader int
	gens   []uint32 // by slot, of those that have been used
	free   []int
	vacant func(slot int) bool
}

func newSupply(leader int, vacant func(slot int) bool) supply {
	return supply{leader: leader, gens: make([]uint32, selfSlot+1), vacant: vacant}
}

func (s *supply) take() (ident, error) {
	for i, slot := range slices.Backward(s.free) {
		if s.vacant(slot) {
			s.free = slices.Delete(s.free, i, i+1)
			return newIdent(s.leader, slot, s.gens[slot]), nil
		}
	}
	if len(s.gens) == slots {
		return ident{}, ErrTooMany
	}
	s.gens = append(s.gens, 0)
	return newIdent(s.leader, len(s.gens)-1, 0), nil
}

// unused takes an ident back that nobody has opened.
func (s *supply) unused(d ident) { s.free = append(s.free, d.slot()) }

// release takes back an ident whose communicator this rank has closed. A slot
// whose generations are used up is not used again: a rank may have seen none of
// them but the first.
func (s *supply) release(d ident) {
	if s.gens[d.slot()]++; s.gens[d.slot()] < generations {
		s.free = append(s.free, d.slot())
	}
}

// propose takes an ident for what op is to make of c.
func (c *Comm) propose(op string) (ident, error) {
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	d, err := c.rank.idents.take()
	if err != nil {
		err = c.tooMany(op)
	}
	return d, err
}

func (c *Comm) tooMany(op string) error {
	return c.fail(op, noValue, noValue, noValue, ErrTooMany, "free communicators that are not needed")
}

// withdraw takes back a proposal that no rank has accepted.
func (k *rank) withdraw(d ident) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idents.unused(d)
}

// open makes the contexts of a communicator in which this process is rank me
// and exchanges messages with the ranks of peers.
func (k *rank) open(d ident, peers *group.Group, me int) (p2p, coll *variants.Context) {
	k.mu.Lock() // the background runs already: another rank may have died
	defer k.mu.Unlock()
	return k.contexts(d, peers, me)
}

// contexts is open with the lock held.
func (k *rank) contexts(d ident, peers *group.Group, me int) (p2p, coll *variants.Context) {
	p2p = &variants.Context{ID: d.number, Gen: d.gen, Rank: int32(me), Group: peers}
	coll = &variants.Context{ID: d.number | 1, Gen: d.gen, Rank: int32(me), Group: peers, Tags: collNames}
	k.proto.Open(p2p)
	k.proto.Open(coll)
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
	k.mu.x.retract(c)
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
		k.proto.Close(c.p2p)
		k.proto.Close(c.coll)
		if c.id.leader() == k.fab.Rank() && !c.spoiled {
			k.idents.release(c.id)
		}
	}
	clear(k.closing[len(keep):])
	k.closing = keep
}

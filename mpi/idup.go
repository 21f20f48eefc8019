package mpi

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/variants"
)

// idup is the schedule of Idup: a broadcast of the ID, after which this rank
// opens the communicator, and a reduction, after which the leader knows that all
// have, and all whether an attribute has refused to be copied. Both have one turn, that of the broadcast. A rank that
// the ID has not reached says so in its part of the reduction.
type idup struct {
	tell, confirm *collective
	c, n          *Comm
	words         []int64 // outcome, ID
	opened        bool
	refused       error   // by an attribute
	refusals      []int64 // 1 if an attribute of any rank refuses
}

// Idup begins a Dup (MPI_Comm_idup). The communicator can be used when the
// request has completed. Attributes are copied now.
func (c *Comm) Idup() (*Comm, *Request, error) {
	const op = "Idup"
	if err := c.usableWithin(op); err != nil {
		return nil, nil, err
	}
	n := &Comm{members: c.members, size: c.size, topology: c.topology, handler: c.Errhandler(),
		algorithms: c.algorithms, hosts: c.hosts}
	s := &idup{c: c, n: n, words: make([]int64, 2), refusals: make([]int64, 1)}
	if n.attrs, s.refused = c.copyAttrs(op); s.refused != nil {
		s.refusals[0] = 1
	}
	if c.Rank() == 0 {
		d, err := c.propose(op)
		s.words[0], s.words[1] = int64(commid.OutcomeOf(err)), d.Word()
	}
	var err error
	if s.tell, err = bcast(c, op, s.words, 0); err == nil {
		s.confirm, err = whole(c, op, coll.Allreduce, nil, s.refusals, Max)
	}
	if err != nil {
		return nil, nil, err
	}
	k := c.rank
	q := &Request{c: c, op: op, s: s}
	k.mu.Lock()
	defer k.mu.Unlock()
	tag, line := c.turns.tag()
	s.tell.prepare(tag)
	s.tell.line = line
	s.confirm.prepare(tag)
	k.run(q)
	return n, q, nil
}

func (s *idup) requests() *variants.Batch { return &s.tell.batch }

func (s *idup) begin() {
	s.confirm.batch.Owner = s.tell.batch.Owner
	s.tell.begin()
}

func (s *idup) advance() bool {
	line := s.tell.line
	if line.head != s.tell {
		return false
	}
	if !s.opened {
		if !s.tell.perform(false) {
			return false
		}
		s.opened = true
		s.confirm.err = s.open()
	}
	if !s.confirm.perform(false) {
		return false
	}
	line.leave(s.c.rank)
	s.c.turns.underWay--
	return true
}

// open opens the communicator that the leader has told of.
func (s *idup) open() error {
	if s.tell.err != nil {
		return s.tell.err
	}
	if err := s.c.everybody(s.tell.name, 0).Err(commid.Outcome(s.words[0])); err != nil {
		return err
	}
	s.n.id = commid.FromWord(s.words[1])
	s.n.p2p, s.n.coll = s.c.rank.contexts(s.n.id, s.n.members, s.c.Rank())
	s.n.area = s.c.rank.openArea(s.n.id, s.n.members, s.c.Rank())
	return nil
}

// outcome makes the communicator usable: not before, since the leader must not
// free it while others have not opened it.
func (s *idup) outcome() (Status, error) {
	k, n := s.c.rank, s.n
	op := s.tell.name
	_, _ = s.tell.outcome()
	err := s.confirm.err
	k.putCollective(s.confirm)
	switch {
	case err == nil && s.refusals[0] == 0:
		n.rank = k
	case n.p2p != nil:
		n.spoiled = err != nil
		n.freed.Store(true)
		k.closeArea(n)
		k.retire(n)
	}
	if s.refused != nil {
		err = s.refused
	} else if err == nil && s.refusals[0] != 0 {
		err = s.c.everybody(op, 0).Err(commid.Misused)
	}
	return emptyStatus, err
}

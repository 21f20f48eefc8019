package mpi

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/variants"
)

// How two groups agree: each is a team (agree.go) whose root, its leader, meets
// that of the other one. A leader whose group can not go on says so to the other
// before it tells its own.

// offer is what a leader brings to a meeting with another one: an ID, or why
// its group can not go on.
type offer struct {
	id   commid.ID
	bad  error
	full bool // there is an ID
}

func (c *Comm) offer(op string, bad error) (p offer) {
	if p.bad = bad; bad == nil {
		p.id, p.bad = c.propose(op)
		p.full = p.bad == nil
	}
	return p
}

// decide ends the meeting: err says how it went, theirs what the other leader
// has found, and taken whose ID they have taken if nothing is wrong. An
// ID that is not taken is free again, unless the other leader has died: then
// nobody knows whom it has told.
func (p offer) decide(c *Comm, op string, err error, theirs commid.Outcome, taken bool) error {
	if err == nil {
		err = c.everybody(op, 0).Err(theirs)
		if p.full && (err != nil || !taken) {
			c.rank.withdraw(p.id)
		}
	}
	if p.bad != nil {
		return p.bad
	}
	return err
}

// swap sends words to a rank of a context and receives others from it.
func (c *Comm) swap(op string, ctx *variants.Context, with, tag int, out, in []int64) error {
	c.rank.mu.Lock()
	_, err := c.exchange(op, ctx, raw(mem.Bytes(out)), with, tag, raw(mem.Bytes(in)), with, tag)
	return err
}

// settle lets the two groups agree which of them comes first, and takes the
// ID that the leader of that one, its rank 0, proposes. A group that is high
// comes behind one that is not; else the ranks of the leaders in the job decide.
// err is what this rank has to say instead.
func (c *Comm) settle(t *team, high bool, err error) (d commid.ID, first bool, _ error) {
	outcome := make([]int64, 2)
	if t.Me == 0 {
		outcome, err = c.confer(t, high, err)
	}
	if err := t.Cast(outcome, err); err != nil {
		return d, false, err
	}
	return commid.FromWord(outcome[0]), outcome[1] != 0, nil
}

// confer is the leaders' part of settle.
func (c *Comm) confer(t *team, high bool, bad error) ([]int64, error) {
	p := c.local.offer(t.op, bad)
	out, in := []int64{0, int64(c.rank.fab.Rank()), p.id.Word(), int64(commid.OutcomeOf(p.bad))}, make([]int64, 4)
	if high {
		out[0] = 1
	}
	err := c.swap(t.op, c.coll, 0, tagMaking, out, in)
	first := out[0] < in[0] || out[0] == in[0] && out[1] < in[1]
	if err = p.decide(c.local, t.op, err, commid.Outcome(in[3]), first); err != nil {
		return make([]int64, 2), err
	}
	if first {
		return []int64{out[2], 1}, nil
	}
	return []int64{in[2], 0}, nil
}

// concur returns, at the owner of an ID, when the ranks of both groups have
// opened what it stands for. Both have agreed on the ID in teams whose roots
// speak with each other on the intercommunicator c.
func (c *Comm) concur(t *team, d commid.ID, remoteRoot int) error {
	_, err := t.Gather(nil, nil)
	if t.Me > 0 {
		return err
	}
	word := []int64{int64(commid.OutcomeOf(err))}
	roots := c.team(t.op, c.coll, tagMaking, 1, 0, func(int) int { return remoteRoot })
	if d.Leader() != c.rank.fab.Rank() {
		roots.Send(word, 0)
		return err
	}
	e := roots.Recv(word, 0)
	if e == nil {
		e = t.Err(commid.Outcome(word[0]))
	}
	if err == nil {
		err = e
	}
	return err
}

package mpi

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// How two groups agree: each is a team (agree.go) whose root, its leader, meets
// that of the other one. A leader whose group can not go on says so to the other
// before it tells its own.

// offer is what a leader brings to a meeting with another one: an ident, or why
// its group can not go on.
type offer struct {
	ident ident
	bad   error
	full  bool // there is an ident
}

func (c *Comm) offer(op string, bad error) (p offer) {
	if p.bad = bad; bad == nil {
		p.ident, p.bad = c.propose(op)
		p.full = p.bad == nil
	}
	return p
}

// decide ends the meeting: err says how it went, theirs what the other leader
// has found, and taken whose ident they have taken if nothing is wrong. An
// ident that is not taken is free again, unless the other leader has died: then
// nobody knows whom it has told.
func (p offer) decide(c *Comm, op string, err error, theirs verdict, taken bool) error {
	if err == nil {
		err = theirs.err(c.everybody(op, 0))
		if p.full && (err != nil || !taken) {
			c.rank.withdraw(p.ident)
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
// ident that the leader of that one, its rank 0, proposes. A group that is high
// comes behind one that is not; else the ranks of the leaders in the job decide.
// err is what this rank has to say instead.
func (c *Comm) settle(t *team, high bool, err error) (d ident, first bool, _ error) {
	outcome := make([]int64, 2)
	if t.me == 0 {
		outcome, err = c.confer(t, high, err)
	}
	if err := t.cast(outcome, err); err != nil {
		return d, false, err
	}
	return identOf(outcome[0]), outcome[1] != 0, nil
}

// confer is the leaders' part of settle.
func (c *Comm) confer(t *team, high bool, bad error) ([]int64, error) {
	p := c.local.offer(t.op, bad)
	out, in := []int64{0, int64(c.rank.fab.Rank()), p.ident.word(), int64(verdictOf(p.bad))}, make([]int64, 4)
	if high {
		out[0] = 1
	}
	err := c.swap(t.op, c.coll, 0, tagMaking, out, in)
	first := out[0] < in[0] || out[0] == in[0] && out[1] < in[1]
	if err = p.decide(c.local, t.op, err, verdict(in[3]), first); err != nil {
		return make([]int64, 2), err
	}
	if first {
		return []int64{out[2], 1}, nil
	}
	return []int64{in[2], 0}, nil
}

// concur returns, at the owner of an ident, when the ranks of both groups have
// opened what it stands for. Both have agreed on the ident in teams whose roots
// speak with each other on the intercommunicator c.
func (c *Comm) concur(t *team, d ident, remoteRoot int) error {
	_, err := t.gather(nil, nil)
	if t.me > 0 {
		return err
	}
	word := []int64{int64(verdictOf(err))}
	roots := &team{c: c, op: t.op, ctx: c.coll, tag: tagMaking, at: func(int) int { return remoteRoot }}
	if d.leader() != c.rank.fab.Rank() {
		roots.send(word, 0)
		return err
	}
	e := roots.recv(word, 0)
	if e == nil {
		e = verdict(word[0]).err(t)
	}
	if err == nil {
		err = e
	}
	return err
}

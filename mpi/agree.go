package mpi

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Tags below 0 of the collectives' context belong to the making of
// communicators: tagMaking to the collective calls, those below it to
// CreateGroup and InterCreate, which only some of the ranks make, with a tag of
// theirs.
const tagMaking = -2

// tagOf is the internal tag of a call with a tag of the program. The two
// largest share theirs with 0 and 1.
func tagOf(tag int) int { return tagMaking - 1 - tag%(math.MaxInt32-1) }

// team is some of the ranks of a context, which agree on something along a
// binomial tree. Member 0 is the root. Every message has a size that both sides
// know, and begins with a verdict: a rank that can not go on says so to those
// who wait for it, so that nobody waits for the word of a dead rank's child.
type team struct {
	c        *Comm
	op       string
	ctx      *variants.Context
	tag      int
	size, me int
	at       func(i int) int // rank in ctx of a member
}

// everybody is the team of all ranks of c, with rank root as its root.
func (c *Comm) everybody(op string, root int) *team {
	n := c.size
	return &team{
		c: c, op: op, ctx: c.coll, tag: tagMaking, size: n, me: (c.Rank() - root + n) % n,
		at: func(i int) int { return (i + root) % n },
	}
}

// verdict is what a team finds about a call.
type verdict int64

const (
	fine verdict = iota
	died
	misused
	exhausted
)

// verdictOf is what to tell the others of an error of this rank's.
func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return fine
	case errors.Is(err, ErrTooMany):
		return exhausted
	case errors.Is(err, ErrProcFailed):
		return died
	}
	return misused
}

// err is the error for a verdict that another member has given.
func (v verdict) err(t *team) error {
	switch v {
	case fine:
		return nil
	case died:
		return t.c.fail(t.op, noValue, noValue, noValue, fmt.Errorf("%w: a member has died", ErrProcFailed), "see how that rank has ended")
	case exhausted:
		return t.c.tooMany(t.op)
	}
	return t.c.fail(t.op, noValue, noValue, noValue, fmt.Errorf("%w: another rank has passed what the call does not take", ErrArg), "see the error of that rank")
}

// subtree is the number of members at and below a member of a tree of size n.
func subtree(i, n int) int {
	if i == 0 {
		return n
	}
	return min(i&-i, n-i)
}

// gather brings an entry of each member, all of the same length, to the root, in
// the order of the members. err is what this member has to say against it.
func (t *team) gather(mine []int64, err error) ([]int64, error) {
	w := len(mine)
	buf := make([]int64, 1+subtree(t.me, t.size)*w)
	copy(buf[1:], mine)
	worst := verdictOf(err)
	for bit := 1; t.me&bit == 0 && t.me+bit < t.size; bit <<= 1 {
		in := make([]int64, 1+subtree(t.me+bit, t.size)*w)
		if e := t.recv(in, t.me+bit); e != nil {
			in[0] = int64(verdictOf(e))
		}
		worst = max(worst, verdict(in[0]))
		copy(buf[1+bit*w:], in[1:])
	}
	if t.me > 0 {
		buf[0] = int64(worst)
		t.send(buf, t.me&(t.me-1))
		return nil, err
	}
	if err == nil {
		err = worst.err(t)
	}
	return buf[1:], err
}

// cast brings words from the root to every member, which know how many there
// are. err is what the root has to say instead; what another member has to say
// stays with it.
func (t *team) cast(words []int64, err error) error {
	buf := make([]int64, 1+len(words))
	if t.me == 0 {
		buf[0] = int64(verdictOf(err))
		copy(buf[1:], words)
	} else {
		if e := t.recv(buf, t.me&(t.me-1)); e != nil {
			buf[0] = int64(verdictOf(e))
			err = e
		}
		copy(words, buf[1:])
	}
	for bit := t.firstChild(); bit > 0; bit >>= 1 {
		if t.me+bit < t.size {
			t.send(buf, t.me+bit)
		}
	}
	if err == nil {
		err = verdict(buf[0]).err(t)
	}
	return err
}

// everyone brings the entries of all members, of the same length, to all.
func (t *team) everyone(mine []int64, err error) ([]int64, error) {
	all, e := t.gather(mine, err)
	if t.me > 0 {
		all = make([]int64, t.size*len(mine))
	}
	if e := t.cast(all, e); err == nil {
		err = e
	}
	return all, err
}

// firstChild is the distance to the child with the largest subtree.
func (t *team) firstChild() int {
	if t.me == 0 {
		return 1 << bits.Len(uint(t.size-1)) >> 1
	}
	return t.me & -t.me >> 1
}

// send sends words to a member. If that has died it wants nothing any more, and
// whoever waits for its word sees it.
func (t *team) send(words []int64, to int) {
	t.c.rank.mu.Lock()
	_ = t.c.sendAndWait(t.op, t.ctx, variants.Standard, raw(mem.Bytes(words)), t.at(to), t.tag)
}

func (t *team) recv(words []int64, from int) error {
	t.c.rank.mu.Lock()
	_, err := t.c.recvAndWait(t.op, t.ctx, raw(mem.Bytes(words)), t.at(from), t.tag)
	return err
}

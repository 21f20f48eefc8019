package mpi

import (
	"fmt"
	"math"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
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

// team is some of the ranks of a context, which agree on something along a tree.
type team struct {
	commid.Tree
	c   *Comm
	op  string
	ctx *variants.Context
	tag int
	at  func(i int) int // rank in ctx of a member
}

// team makes a team of size members, of which this process is number me.
func (c *Comm) team(op string, ctx *variants.Context, tag, size, me int, at func(i int) int) *team {
	t := &team{c: c, op: op, ctx: ctx, tag: tag, at: at}
	t.Tree = commid.Tree{Size: size, Me: me, Send: t.send, Recv: t.recv, Fail: t.fail}
	return t
}

// everybody is the team of all ranks of c, with rank root as its root.
func (c *Comm) everybody(op string, root int) *team {
	n := c.size
	return c.team(op, c.coll, tagMaking, n, (c.Rank()-root+n)%n, func(i int) int { return (i + root) % n })
}

func (t *team) fail(v commid.Outcome) error {
	switch v {
	case commid.Died:
		err, do := t.c.whyFailed(ErrProcFailed, t.ctx, variants.AnySource)
		if do != "" {
			err = fmt.Errorf("%w: a member has died", err)
		}
		return t.c.fail(t.op, noValue, noValue, noValue, err, do)
	case commid.Exhausted:
		return t.c.tooMany(t.op)
	}
	return t.c.fail(t.op, noValue, noValue, noValue,
		fmt.Errorf("%w: another rank has passed what the call does not take", ErrArg), "see the error of that rank")
}

func (t *team) send(words []int64, to int) {
	t.c.rank.mu.Lock()
	_ = t.c.sendAndWait(t.op, t.ctx, variants.Standard, raw(mem.Bytes(words)), t.at(to), t.tag)
}

func (t *team) recv(words []int64, from int) error {
	t.c.rank.mu.Lock()
	_, err := t.c.recvAndWait(t.op, t.ctx, raw(mem.Bytes(words)), t.at(from), t.tag)
	return err
}

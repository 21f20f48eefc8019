package variants

import (
	"errors"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Ranks of the job that have died.

// Died notes that a rank of the job has died, and ends the receives that it
// had been told to write into and that are in no queue. It reports false if
// that was known.
func (c *Core) Died(world int32) bool {
	if c.failed[world] {
		return false
	}
	c.failed[world] = true
	p := c.Out.Peer(world)
	p.Failed, p.Shut = true, 1
	for _, r := range c.slots {
		if r != nil && r.Recv && !r.Queued && r.Ctx.World(r.Status.Source) == world {
			c.Complete(r, ErrPeerDied)
		}
	}
	return true
}

// Fail ends all requests of a queue because their peer has died.
func (c *Core) Fail(q *Queue) {
	for r := range q.All() {
		c.FailOne(q, r)
	}
}

// FailOne ends a request of a queue because its peer has died.
func (c *Core) FailOne(q *Queue, r *Request) {
	q.Remove(r)
	c.Complete(r, ErrPeerDied)
}

// FailHopeless ends those requests of a queue that can not be relied upon to complete.
func (c *Core) FailHopeless(q *Queue) {
	for r := range q.All() {
		if c.Hopeless(r.Ctx, r.Peer) != nil {
			c.FailOne(q, r)
		}
	}
}

// Hopeless returns an error if a receive from src, or a send to it, can not be relied
// upon to complete since a rank that it could match has died.
func (c *Core) Hopeless(ctx *Context, src int32) error {
	if len(c.failed) == 0 {
		return nil
	}
	if src != AnySource {
		if c.failed[ctx.World(src)] {
			return ErrPeerDied
		}
		return nil
	}
	for w := range c.failed {
		if ctx.Has(w) {
			return ErrPeerDied
		}
	}
	return nil
}

// peerError is the error of a request whose write has ended with err.
func peerError(err error) error {
	if errors.Is(err, rdmaeng.ErrPeer) {
		return ErrPeerDied
	}
	return err
}

package mpi

import (
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/variants"
)

// A blocking receive of a short message, from a named rank, looks at that rank's
// messages first. If the next one is for it, and it has come already or comes within
// a microsecond, it is copied out of the ring, and no receive is posted at all. A
// receive of a long message is posted without that wait: its sender is to know of it.

// near is what it takes: a fabric with messages of each rank by themselves, and a
// protocol that knows when this does not overtake anything (package ticket).
type near struct {
	fab   *host.Fabric // nil: there is no such thing
	proto variants.Taker
	looks int
}

func (n *near) open(f fabric, proto protocol) {
	fab, ok := any(f).(*host.Fabric)
	if n.proto, _ = any(proto).(variants.Taker); ok && n.proto != nil {
		n.fab, n.looks = fab, fab.Looks()
	}
}

// receiveNow receives a message into b, and releases the lock, which is held; or reports false.
func (c *Comm) receiveNow(ctx *variants.Context, b []byte, source, tag int) (st Status, ok bool) {
	k := c.rank
	if k.near.fab == nil || !k.Quiet() || source < 0 || tag < 0 {
		return st, false
	}
	world := int(ctx.World(int32(source)))
	h, payload := k.near.fab.NextFrom(world, 1)
	if h == nil && len(b) <= k.limit && k.near.proto.TakesNext(ctx, int32(source), int32(tag)) {
		h, payload = k.near.fab.NextFrom(world, k.near.looks)
	}
	if h == nil {
		return st, false
	}
	if ok = k.near.proto.Take(ctx, int32(source), int32(tag), b, h, payload); !ok {
		k.proto.Deliver(*h, payload)
	}
	k.near.fab.Release()
	if !ok {
		return st, false
	}
	if ctx == c.p2p {
		c.leaseInFrom(int32(source), int32(tag))
	}
	k.mu.Unlock()
	return Status{Source: source, Tag: tag, bytes: len(payload)}, true
}

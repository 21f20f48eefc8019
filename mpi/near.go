package mpi

import (
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// A blocking receive and a probe look into the mailbox first. If the next message there is for
// them, and it has come already or comes within a microsecond, it is copied out of the ring, or
// described where it is, and no receive is posted at all. A receive of a long message is posted
// without that wait: its sender is to know of it.

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
		n.fab, n.looks = fab, max(1, fab.Looks())
	}
}

// look looks into the mailbox for the next message of a rank, or of any, so often if that is the one
// which a receive with these arguments gets, else once; h is nil if there is none.
func (k *rank) look(ctx *variants.Context, source, tag int32, looks int) (h *packetizer.Header, n int) {
	if k.near.fab == nil || !k.Quiet() {
		return nil, 0
	}
	from := int(source)
	if source >= 0 {
		from = int(ctx.World(source))
	}
	if h, n = k.near.fab.Look(from, 1); h == nil && looks > 1 && k.near.proto.TakesNext(ctx, source, tag) {
		h, n = k.near.fab.Look(from, looks-1)
	}
	return h, n
}

// taken ends the look at a message that has been taken out of the ring: the protocol gets one that nobody wants yet.
func (k *rank) taken(wanted bool, h *packetizer.Header, payload []byte) {
	if !wanted {
		k.proto.Deliver(*h, payload)
	}
	k.near.fab.Release()
}

// receiveNow receives a message into b, and releases the lock, which is held; or reports false.
func (c *Comm) receiveNow(ctx *variants.Context, b []byte, source, tag int) (Status, bool) {
	k, looks := c.rank, 1
	if len(b) <= k.limit {
		looks = k.near.looks
	}
	h, n := k.look(ctx, int32(source), int32(tag), looks)
	if h == nil {
		return Status{}, false
	}
	payload := k.near.fab.Take(n)
	st, ok := k.near.proto.Take(ctx, int32(source), int32(tag), b, h, payload)
	k.taken(ok, h, payload)
	if !ok {
		return Status{}, false
	}
	if ctx == c.p2p {
		c.leaseInFrom(st.Source, st.Tag)
	}
	k.mu.Unlock()
	return fromProtocol(st), true
}

// now looks for the message in the mailbox, so often at most, and reports whether it is there.
func (l *look) now(looks int) bool {
	k, ctx, src, tag := l.c.rank, l.c.p2p, int32(l.source), int32(l.tag)
	h, n := k.look(ctx, src, tag, looks)
	if h == nil {
		return false
	}
	if !l.extract {
		var st variants.Status
		st, l.over = k.near.proto.Peek(ctx, src, tag, h, n)
		l.st = fromProtocol(st)
		return l.over
	}
	payload := k.near.fab.Take(n)
	l.m = k.near.proto.TakeOut(ctx, src, tag, h, payload)
	if l.over = l.m != nil; l.over {
		l.st = fromProtocol(l.m.Status())
	}
	k.taken(l.over, h, payload)
	return l.over
}

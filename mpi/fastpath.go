package mpi

import (
	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/variants"
)

// fastPath is a rank's end of the fast path (package fastpath): the table that it
// shares with code outside of Go, and what has become of the receives pending there.
// The code knows communicators by handles, which Lease tells.
type fastPath struct {
	rank   *rank
	world  *Comm
	table  *fastpath.Table
	proto  variants.Lessor
	comms  map[uint64]*Comm
	spread bool                     // some ranks are on other hosts: channels to and from those are not leased
	posts  [fastpath.Slots]*Request // of slots that have been posted
}

// openFastPath is inside.Functions.OpenFastPath.
func (c *Comm) openFastPath(table *fastpath.Table) inside.FastPath[Comm, Request] {
	if c.usable("Init") != nil {
		return nil
	}
	k := c.rank
	proto, leases := any(k.proto).(variants.Lessor)
	fab := hostOf(k.fab)
	if !leases || fab == nil || k.check != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := &fastPath{rank: k, world: c, table: table, proto: proto, comms: make(map[uint64]*Comm), spread: !c.onOneHost()}
	table.Limit, table.Window = uint32(k.limit), variants.CreditWindow
	table.Rings.Cells, table.Rings.Shift, table.Rings.Bulk = fab.Geometry()
	table.Doorbells, table.Step = fab.Doorbells()
	if n := fab.Size(); n <= mostInward {
		table.Inward, table.RingStep = fab.Inward()
		table.Ranks = uint32(n)
	}
	switch {
	case k.level == ThreadMultiple:
		table.Waiting = fastpath.InGo
	case !fab.Oversubscribed():
		table.Waiting = fastpath.Dedicated
	case fab.Yielding():
		table.Waiting = fastpath.Yielding
	default:
		table.Waiting = fastpath.InGo
	}
	if fab.Fenced() {
		table.Fenced = 1
	}
	if k.Outside.Busy != nil {
		table.Outside = mem.Ref(k.Outside.Busy)
	}
	proto.LeaseTo(fastpath.NewLeases(fab.Rank(), table, func(p *fastpath.Port) {
		p.Out, p.In = fab.Wires(int(p.World))
	}))
	table.Lock.Open(k.level == ThreadMultiple) // the rank's lock, which we have, now includes it
	k.fast, k.mu.Gate = x, x
	return x
}

// mostInward is the number of ranks up to which a test looks at the rings of all. To look at one that has never been
// used gives it memory.
const mostInward = 16

// Enter, TryEnter and Leave are the gate of the rank's lock. Who has it posts the receives
// that are pending.
func (x *fastPath) Enter() {
	x.table.Lock.Enter()
	x.post()
}

// TryEnter implements progress.Gate.
func (x *fastPath) TryEnter() bool {
	if !x.table.Lock.TryEnter() {
		return false
	}
	x.post()
	return true
}

// Leave implements progress.Gate.
func (x *fastPath) Leave() {
	x.table.Armed = 0
	if x.rank.Listens() {
		x.table.Armed = 1
	}
	x.table.Lock.Leave()
}

// post posts the pending receives, in their order.
func (x *fastPath) post() {
	k := x.rank
	for slot, ok := x.table.Pop(); ok; slot, ok = x.table.Pop() {
		s := &x.table.Slots[slot]
		q := x.receive(x.comms[s.Comm], s)
		q.m.Buf = mem.At(s.Buf, int(s.Room))
		x.posts[slot] = q
		k.proto.PostRecv(&q.m.Request)
	}
}

// receive makes the request of a slot.
func (x *fastPath) receive(c *Comm, s *fastpath.Slot) *Request {
	k := x.rank
	q := k.request(c, "Irecv")
	q.m, q.state = k.take(), pending
	q.m.Recv, q.m.Ctx, q.m.Peer, q.m.Tag = true, c.p2p, s.Source, s.Tag
	return q
}

// Lease implements inside.FastPath.
func (x *fastPath) Lease(c *Comm, handle uint64) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.local == nil { // of an intercommunicator no message is short enough
		c.handle, x.comms[handle] = handle, c
	}
}

// retract ends Lease, with the lock held.
func (x *fastPath) retract(c *Comm) {
	if x != nil && c.handle != 0 {
		x.proto.RevokeAll()
		delete(x.comms, c.handle)
		c.handle = 0
	}
}

// leasable reports whether there may be another message of n bytes on the fast path.
func (c *Comm) leasable(n int) bool { return c.handle != 0 && n <= int(c.rank.fast.table.Limit) }

// leaseOut leases the channel on which a call has sent a message, with the lock held.
func (c *Comm) leaseOut(dest, tag int) {
	if c.handle != 0 && dest >= 0 && (!c.rank.fast.spread || c.here(dest)) {
		c.rank.fast.proto.LeaseOut(c.p2p, int32(dest), int32(tag), c.handle)
	}
}

// leaseIn leases the channel on which a call has received a message, with the lock held: that of the
// message, if the receive was for any.
func (c *Comm) leaseIn(r *variants.Request) {
	source, tag := r.Peer, r.Tag
	if source == variants.AnySource || tag == variants.AnyTag {
		source, tag = r.Status.Source, r.Status.Tag
	}
	c.leaseInFrom(source, tag)
}

func (c *Comm) leaseInFrom(source, tag int32) {
	if c.handle != 0 && source >= 0 && tag >= 0 && (!c.rank.fast.spread || c.here(int(source))) {
		c.rank.fast.proto.LeaseIn(c.p2p, source, tag, c.handle)
	}
}

// Request implements inside.FastPath.
func (x *fastPath) Request(slot int) (q *Request, handle uint64) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &x.table.Slots[slot]
	if s.State == fastpath.Done {
		c := x.comms[s.Comm]
		if c == nil {
			c = x.world // it has been freed meanwhile
		}
		q = x.receive(c, s)
		q.m.Done, q.m.Status = true, variants.Status{Source: s.Source, Tag: s.Tag, Size: int(s.Size)}
		x.posts[slot], s.State = q, fastpath.Posted
	}
	if s.State != fastpath.Posted {
		return nil, 0
	}
	return x.posts[slot], s.Comm
}

// Release implements inside.FastPath.
func (x *fastPath) Release(slot int) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	x.posts[slot] = nil
	x.table.Release(slot)
}

// Sent implements inside.FastPath.
func (x *fastPath) Sent() *Request { return x.world.immediate("Isend") }

package host

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Shared copies. The coordinated units that the prototype's engine has at both ends
// of a transfer are here the two ranks themselves: a long write is offered to the
// rank that it goes to, which may read out of the writer's memory what the writer
// has not written yet. What each does is settled by a claim (claim.go). So whoever
// is in a call of MPI does the work: both, a half each, when both wait; all of it the
// one that waits when the other computes; and neither waits for the other but for
// what that has begun.
//
// A source can also be lent before it is known where it goes. Then the receiver takes
// part as soon as its protocol says what the source is for, and the writer when it has
// started the transfer.
//
// The writer works on its copies when it polls, the reader (Carry) when its mailbox is
// empty. The end that finishes the last unit tells the other one: the writer by the
// notification, as always, the reader by the claim and the writer's bell.
//
// An end that cannot copy (cross-memory attach may work in one direction only) takes
// nothing. If it fails after it has taken something, it breaks the claim, and the
// writer sends everything again through the ring. If a rank dies with units taken,
// its peer learns of the death as always; nothing is complete before all units
// are done.
const (
	shareUnit  = 16 << 10 // the least unit
	shareMost  = 1 << 20  // to be taken at a time
	shareSlots = 128      // copies of a pair at a time
)

// offerBody is the payload of an offerRecord. Word 1 of the record's header is the
// notify address of the receive, word 2 the slot of the claim and the generation.
type offerBody struct {
	addr, size uint64
	notify     rdmaeng.Notification
}

// share is what a rank knows of a copy that another has offered it.
type share struct {
	from   int
	claim  *claim
	gen    uint32
	addr   uint64 // in the memory of from
	size   int
	target uint64 // notify address of the exposed buffer
	notify rdmaeng.Notification
}

// unitOf returns the size of a unit of a copy of n bytes, and how many there are.
func unitOf(n int) (unit, units int) {
	unit = max(shareUnit, (n+claimUnits*pageSize-1)/(claimUnits*pageSize)*pageSize)
	return unit, (n + unit - 1) / unit
}

// unhurried reports whether no processor is idle that could copy while the ranks
// compute.
func (f *Fabric) unhurried() bool { return f.cores <= f.sharers }

// want is how many units to take at a time: half of the copy, so that each end keeps its
// half of a buffer that is used again in its caches, then what the other has left.
func want(unit, units int) int { return min((units+1)/2, max(1, shareMost/unit)) }

// shareable reports whether it makes sense that the other end reads a source.
func (f *Fabric) shareable(t *rdmaeng.Transfer) bool {
	return t.View.Type == nil && len(t.Src) > DefaultLimit && t.To != f.me
}

// Lend implements rdmaeng.Lender.
func (f *Fabric) Lend(t *rdmaeng.Transfer) (src rdmaeng.Window, ok bool) {
	if !f.shareable(t) || !f.Reaches(t.To) || !f.claimFor(t) {
		return src, false
	}
	t.Stage, t.Unhurried = stageLent, f.unhurried()
	return rdmaeng.Window{Addr: mem.Addr(t.Src), Notify: uint64(t.Slot) | uint64(t.Share)<<32}, true
}

// Reclaim implements rdmaeng.Lender.
func (f *Fabric) Reclaim(t *rdmaeng.Transfer) {
	f.job.ringOf(f.me, t.To).head.claimed[t.Slot/64] &^= 1 << (t.Slot % 64)
	t.Stage = stageNew
}

// claimFor takes a claim for a transfer, if one is free.
func (f *Fabric) claimFor(t *rdmaeng.Transfer) bool {
	h := f.job.ringOf(f.me, t.To).head
	slot := freeSlot(&h.claimed)
	if slot < 0 {
		return false
	}
	h.claimed[slot/64] |= 1 << (slot % 64)
	t.Slot, t.Share = int32(slot), h.claim(slot).begin()
	return true
}

// begin makes the writer take part in a shared copy.
func (f *Fabric) begin(t *rdmaeng.Transfer) {
	t.Stage = stageShare
	t.Shared, t.Unhurried = true, f.unhurried()
}

// offer starts a shared copy when the other end can be told of it. If there is no claim, the transfer goes through the
// ring: sources that are lent may have all of them until their receives are posted, which may be after this one.
func (f *Fabric) offer(t *rdmaeng.Transfer) {
	r := f.job.ringOf(f.me, t.To)
	g := &f.job.geo
	c, _ := f.space(r, t.To, true, 0)
	if c == nil {
		return
	}
	if !f.claimFor(t) {
		t.Stage = stageRing
		return
	}
	f.begin(t)
	*(*offerBody)(unsafe.Pointer(&c.payload)) = offerBody{mem.Addr(t.Src), uint64(len(t.Src)), t.Notify}
	c.header[1], c.header[2] = t.Dst.Notify, uint64(t.Slot)|uint64(t.Share)<<32
	r.publish(g, c, offerRecord<<32, deviceLength, f.fenced)
	// A rank that computes shall go on: what it is offered will be done without it.
	if f.job.control(t.To).flags.Load()&bellForeground != 0 {
		f.job.ring(t.To, bellForeground)
	}
}

// claim returns the claim of a slot. Those of neighbours, which the two ends work on
// at the same time, are in different cache lines.
func (h *ringHead) claim(slot int) *claim {
	const line = mem.CacheLine / 8
	return &h.claims[slot%(shareSlots/line)*line+slot/(shareSlots/line)]
}

func freeSlot(taken *[shareSlots / 64]uint64) int {
	for i, w := range taken {
		if w != ^uint64(0) {
			return 64*i + bits.TrailingZeros64(^w)
		}
	}
	return -1
}

// retract ends the writer's part in a shared copy.
func (f *Fabric) retract(t *rdmaeng.Transfer) {
	f.Reclaim(t)
	t.Shared, t.Unhurried = false, false
}

// portion claims what one end copies next of n bytes: [lo,hi), in so many units; none are left if that is 0.
func (c *claim) portion(gen uint32, n int, fromBack bool) (lo, hi, taken int) {
	unit, units := unitOf(n)
	first, taken := c.take(gen, units, want(unit, units), fromBack)
	return first * unit, min((first+taken)*unit, n), taken
}

// writeShare carries the writer's part on by one portion, and the transfer to its
// next stage.
func (f *Fabric) writeShare(t *rdmaeng.Transfer) {
	c := f.job.ringOf(f.me, t.To).head.claim(int(t.Slot))
	_, units := unitOf(len(t.Src))
	if lo, hi, n := c.portion(t.Share, len(t.Src), false); n > 0 {
		f.wrote = true
		if !f.write(t.To, t.Dst.Addr+uint64(lo), t.Src[lo:hi]) {
			c.giveUp(t.Share)
		} else if t.Done += hi - lo; c.finish(t.Share, units, n) {
			f.retract(t)
			t.Stage = stageNotify
			return
		}
	}
	switch s := c.look(t.Share, units); {
	case s.broken:
		f.retract(t)
		t.Stage, t.Done = stageRing, 0
	case s.done == units:
		f.retract(t)
		t.Stage = stageDone // the reader was the last, and knows
	}
}

// offered takes note of a copy that another rank offers.
func (f *Fabric) offered(in *inbox, c *cell) {
	body := (*offerBody)(unsafe.Pointer(&c.payload))
	src := rdmaeng.Window{Addr: body.addr, Notify: c.header[2]}
	_, s := f.exposed(c.header[1])
	if s == nil {
		return
	}
	if x, ok := f.join(s, in.from, src, c.header[1], int(body.size), body.notify); ok {
		f.shares = append(f.shares, x)
	} else {
		f.job.wake(in.from, bellBackground) // all is left to the writer, which may be computing
	}
}

// Borrow implements rdmaeng.Lender.
func (f *Fabric) Borrow(slot, from int, src rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	s := &f.slots[slot]
	x, ok := f.join(s, from, src, uint64(slot)|uint64(s.gen)<<32, size, n)
	if !ok {
		return false
	}
	f.borrowed = append(f.borrowed, x)
	f.borrowings.Add(1)
	if f.self.flags.Load()&bellForeground != 0 { // a goroutine sleeps that could copy
		f.WakeForeground()
	}
	return true
}

// takeOver makes what has been borrowed a part of what the polling side carries on.
func (f *Fabric) takeOver() {
	f.borrowSeen = f.borrowings.Load()
	f.shares = append(f.shares, f.borrowed...)
	clear(f.borrowed)
	f.borrowed = f.borrowed[:0]
}

// join is this rank's part in a copy to a slot of its own, and reports whether it can
// have one.
func (f *Fabric) join(s *slot, from int, src rdmaeng.Window, target uint64, size int,
	n rdmaeng.Notification) (share, bool) {
	if size > len(s.buf) || !f.Reaches(from) {
		return share{}, false
	}
	return share{
		from: from, claim: f.job.ringOf(from, f.me).head.claim(int(src.Notify & (shareSlots - 1))),
		gen:  uint32(src.Notify >> 32),
		addr: src.Addr, size: size, target: target, notify: n,
	}, true
}

// Carry implements network.Carrier.
func (f *Fabric) Carry() {
	if len(f.shares) > 0 && !f.wrote {
		f.readShares()
	}
	f.wrote = false
}

// readShares carries one of the copies that this rank has been offered on by one
// portion. It prefers those that their writers have not come to.
func (f *Fabric) readShares() {
	best := -1
	for i := 0; i < len(f.shares); i++ {
		s := &f.shares[i]
		_, units := unitOf(s.size)
		st := s.claim.look(s.gen, units)
		if _, e := f.exposed(s.target); e == nil || st.over || st.broken || st.done == units {
			f.shares = slices.Delete(f.shares, i, i+1)
			i--
			continue
		}
		if st.left == units {
			best = i
			break
		}
		if st.left > 0 && best < 0 {
			best = i
		}
	}
	if best >= 0 {
		f.readShare(&f.shares[best])
	}
}

// readShare carries the reader's part in a copy on by one portion.
func (f *Fabric) readShare(s *share) {
	slot, e := f.exposed(s.target) // readShares has seen that it is
	lo, hi, n := s.claim.portion(s.gen, s.size, true)
	if n == 0 {
		return
	}
	_, units := unitOf(s.size)
	if f.job.Dead(s.from) || !f.Read(s.from, s.addr+uint64(lo), e.buf[lo:hi]) {
		s.claim.giveUp(s.gen)
		f.job.wake(s.from, bellBackground)
		f.job.wake(s.from, bellForeground)
	} else if s.claim.finish(s.gen, units, n) {
		e.data = s.notify
		f.notified = append(f.notified, slot)
		f.job.control(s.from).foreground.Add(1)
		f.Ring(s.from)
	}
}

// readable reports whether one of the copies offered has units left.
func (f *Fabric) readable() bool {
	for i := range f.shares {
		s := &f.shares[i]
		_, units := unitOf(s.size)
		if st := s.claim.look(s.gen, units); !st.over && !st.broken && st.left > 0 {
			return true
		}
	}
	return false
}

package mpi

import (
	"slices"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// Ranks that this one cannot reach: the hardware has refused a message to them. To this rank that is as if they had
// died, but its errors say what the hardware had against the message.

// Deaths implements network.Fabric. A rank that waits looks here again and again.
func (r *registers) Deaths() uint32 {
	all := r.Refusals()
	if len(all) > len(r.refusals()) {
		all = slices.Clone(all)
		r.lost.Store(&all)
	}
	return r.Member.Deaths() + uint32(len(all))
}

// refusals are those that Deaths has found. It needs no lock.
func (r *registers) refusals() []*packetizer.RefusedError {
	if all := r.lost.Load(); all != nil {
		return *all
	}
	return nil
}

// SawDeaths implements network.Fabric.
func (r *registers) SawDeaths(n uint32) { r.Member.SawDeaths(n - uint32(len(r.refusals()))) }

// Dead implements network.Fabric.
func (r *registers) Dead(rank int) bool {
	is := func(e *packetizer.RefusedError) bool { return e.To == rank }
	return slices.ContainsFunc(r.refusals(), is) || r.Member.Dead(rank)
}

// whyFailed returns the error, and what to do about it, of a call whose peer is dead to this rank: a rank of a context
// of c, or any. It is err if nothing more is known.
func (c *Comm) whyFailed(err error, ctx *variants.Context, peer int32) (why error, do string) {
	do = "see how that rank has ended"
	if c == nil || c.rank == nil {
		return err, do
	}
	f, ok := c.rank.fab.(*registers)
	if !ok {
		return err, do
	}
	if why := f.silent.Load(); why != nil {
		return because(ErrProcFailed, *why), ""
	}
	for _, e := range f.refusals() {
		world := int32(e.To)
		if peer == variants.AnySource && ctx.Has(world) || peer != variants.AnySource && ctx.World(peer) == world {
			return because(ErrProcFailed, e), ""
		}
	}
	return err, do
}

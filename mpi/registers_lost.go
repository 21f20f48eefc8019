package mpi

import (
	"slices"

	"github.com/exanet-mpi/exanet/packetizer"
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

// Why implements network.Reasons.
func (r *registers) Why(rank int) error {
	if why := r.silent.Load(); why != nil {
		return *why
	}
	for _, e := range r.refusals() {
		if e.To == rank {
			return e
		}
	}
	return nil
}

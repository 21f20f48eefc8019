package regs

import "github.com/exanet-mpi/exanet/internal/mmio"

// runDirectory stands in for the network over which the ranks of the
// prototype tell each other their addresses (thesis 3.2.1): it copies each
// entry from the directory of its rank's node to those of the others, and
// takes the copies back if the rank does.
func (d *Device) runDirectory() {
	if len(d.nodes) == 1 {
		return
	}
	homes := make([]*node, d.nodes[0].mem.Reg(mmio.RegCount).Load()) // of each rank that has entered
	var p pace
	for !d.stop.Load() {
		worked := false
		for rank, was := range homes {
			homes[rank] = d.spread(rank, was)
			worked = worked || homes[rank] != was
		}
		p.wait(worked)
	}
}

// spread makes all directories agree on a rank with that of its node, home,
// which it returns: nil while the rank has entered none.
func (d *Device) spread(rank int, home *node) *node {
	base := mmio.DirBase + rank*mmio.DirSize
	entered := func(n *node) bool { return n.mem.Reg(base+mmio.EntryState).Load() == mmio.EntryReady }
	if home != nil {
		if entered(home) {
			return home
		}
		for _, n := range d.nodes {
			if n != home {
				n.mem.Reg(base + mmio.EntryState).Store(mmio.EntryEmpty)
			}
		}
		return nil
	}
	for _, home := range d.nodes {
		if !entered(home) {
			continue
		}
		for _, n := range d.nodes {
			state := n.mem.Reg(base + mmio.EntryState)
			if n != home && state.CompareAndSwap(mmio.EntryEmpty, mmio.EntryFilling) {
				for _, reg := range []int{mmio.EntryMailbox, mmio.EntryOffset} {
					n.mem.Reg(base + reg).Store(home.mem.Reg(base + reg).Load())
				}
				state.Store(mmio.EntryReady) // release: the entry is there
			}
		}
		return home
	}
	return nil
}

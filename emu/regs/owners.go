package regs

import (
	"time"

	"github.com/exanet-mpi/exanet/emu/regs/owners"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// lookEvery is how soon pages of a process that has ended are free again.
const lookEvery = 10 * time.Millisecond

// runOwners stands in for the drivers of the nodes on this machine.
func (d *Device) runOwners() {
	var pages []mmio.Region
	for _, n := range d.nodes {
		if !n.local {
			continue
		}
		for i := range n.channels {
			pages = append(pages, n.senders[i].page, n.mailboxes[i].page, n.channels[i].page)
		}
	}
	w := owners.New(pages)
	defer w.Close()
	for !d.stop.Load() {
		w.Look()
		time.Sleep(lookEvery)
	}
}

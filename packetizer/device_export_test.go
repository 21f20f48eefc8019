package packetizer

import "github.com/exanet-mpi/exanet/internal/mmio"

// Share is how many windows messages to one mailbox may occupy.
const Share = share

// LeaveUnsubmitted fills every window as a process does that is killed before
// it writes SEND.
func LeaveUnsubmitted(d *Device) {
	for i := range d.win {
		if d.win[i].done.Load() == d.win[i].seq {
			d.win[i].words[mmio.WinSeq/8] = d.seq + 1
		}
	}
}

package endpoint

import (
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Counts is what the three blocks have done for a rank.
type Counts struct {
	Packetizer packetizer.Counts `json:"packetizer"`
	Mailbox    mbox.Counts       `json:"mailbox"`
	RDMA       rdmaeng.Counts    `json:"rdma"`
}

// Counts returns what has been counted since Attach.
func (e *Endpoint) Counts() Counts {
	return Counts{e.port.SendCounts(), e.box.ReceiveCounts(), e.channel.WriteCounts()}
}

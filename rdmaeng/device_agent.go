package rdmaeng

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// The half of a Reader that concerns the channel; package endpoint has the rest.

// HasAgent reports whether there is an agent that starts writes on the word of
// others.
func (d *Device) HasAgent() bool {
	return uint16(d.page.Reg(mmio.RegID).Load()>>16)&mmio.FlagAgent != 0
}

// Offer is Reader.Offer. The notification word of the slot is never written.
func (d *Device) Offer(buf []byte) (slot int, src Window) { return d.Expose(buf) }

// OfferView is Reader.OfferView. The hardware reads contiguous memory, so the
// data are packed now.
func (d *Device) OfferView(v datatype.View) (slot int, src Window) {
	packed := make([]byte, v.Size())
	v.Pack(packed, 0)
	return d.Offer(packed)
}

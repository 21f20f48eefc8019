package rdmaeng

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// The half of a Reader that concerns the channel; package endpoint has the rest.

// HasAgent reports whether there is an agent that starts writes on the word of
// others.
func (d *Device) HasAgent() bool {
	return uint16(d.page.Reg(mmio.RegID).Load()>>16)&mmio.FlagAgent != 0
}

// Offer is Reader.Offer. The notification word of the slot is never written.
func (d *Device) Offer(buf []byte) (slot int, src Window) {
	if d.window == nil {
		if d.page.Present {
			sys.Populate(buf) // this process may be able to read it only
		}
		return d.Expose(buf)
	}
	return d.OfferView(datatype.Bytes(buf))
}

// OfferView is Reader.OfferView. The hardware reads contiguous memory, so the
// data are packed now.
func (d *Device) OfferView(v datatype.View) (slot int, src Window) {
	if d.window == nil {
		packed := make([]byte, v.Size())
		v.Pack(packed, 0)
		return d.Expose(packed)
	}
	slot, src = d.expose(nil, v.Size())
	packed := d.slots.slots[slot].target
	v.Pack(packed, 0)
	d.window.Clean(packed)
	return slot, src
}

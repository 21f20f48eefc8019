package ticket

import "github.com/exanet-mpi/exanet/variants"

// NewAt is New with the ticket at which channels begin.
func NewAt(me int, dev variants.Device, first uint32) *Protocol {
	p := New(me, dev)
	p.First = first
	return p
}

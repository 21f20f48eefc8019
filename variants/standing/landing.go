package standing

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// Landing is the receiver's side of the buffers of a channel.
type Landing struct {
	Ctx      *variants.Context // nil: the communicator is closed, and what lands is dropped
	Src, Tag int32
	Number   uint32

	partner *Partner
	size    int
	bufs    [slots][]byte
	slots   [slots]int // of the device

	landed  uint32 // uses that have been shown
	freed   uint32 // uses that are over
	told    uint32 // of those, how many the sender knows of, or will
	revoked bool   // the sender has been asked not to use them
	ended   bool   // it does not, and the device has forgotten them
	over    bool   // and they hold no message
}

// Stands reports whether the channel's receives need no RTR.
func (g *Landing) Stands() bool { return g != nil && !g.revoked }

// Over reports whether the channel may be given other buffers.
func (g *Landing) Over() bool { return g == nil || g.over }

// Peer is the sender.
func (g *Landing) Peer() *variants.Peer { return g.partner.peer }

// Message is what lies in one of the buffers.
func (g *Landing) Message(buffer uint8, size int) []byte { return g.bufs[buffer][:size] }

// Tell returns how many uses are over, which the sender is about to be told.
func (g *Landing) Tell() uint32 {
	g.told = g.freed
	g.partner.owing = slices.DeleteFunc(g.partner.owing, func(o *Landing) bool { return o == g })
	return g.freed
}

// Hungers takes note of an RTS for so many bytes, and reports whether its sender is to be told: if they fit a buffer,
// it has had none.
func (g *Landing) Hungers(size int) (tell bool) {
	if !g.Stands() || size > g.size {
		return false
	}
	g.partner.oneWay = true
	return g.freed != g.told
}

// Revoke reports whether the buffers are to be asked back.
func (g *Landing) Revoke() bool {
	if !g.Stands() {
		return false
	}
	g.Tell()
	g.revoked = true
	return true
}

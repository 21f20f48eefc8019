package ticket

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// remote is the sender's side of the buffers of a channel.
type remote struct {
	number  uint32
	partner *partner
	size    int
	windows [standSlots]rdmaeng.Window
	used    uint32 // uses that have begun
	freed   uint32 // uses that are over, as far as the receiver has told
}

// over takes the receiver's word on how many uses are over; an older word may come later.
func (o *remote) over(freed uint32) {
	if before(o.freed, freed) {
		o.freed = freed
	}
}

// onStand takes the buffers that a receiver gives.
func (p *Protocol) onStand(c *comm, e variants.Envelope, payload []byte) {
	l := p.outChannel(c, e.Src, e.Tag)
	o := &remote{number: e.Ticket, partner: p.partner(l.peer), size: int(variants.Word(payload, 2*standSlots))}
	for i := range o.windows {
		o.windows[i] = rdmaeng.Window{Addr: variants.Word(payload, 2*i), Notify: variants.Word(payload, 2*i+1)}
	}
	o.partner.got[o.number] = o
	l.remote = o
}

// onFreed takes a word on uses that are over.
func (p *Protocol) onFreed(e variants.Envelope, payload []byte) {
	if o := p.partner(p.Out.Peer(e.Src)).got[e.Ticket]; o != nil {
		o.over(uint32(variants.Word(payload, 0)))
	}
}

// onRevoke drops buffers. The answer leaves when all that has been written to that rank is done.
func (p *Protocol) onRevoke(c *comm, e variants.Envelope) {
	l := p.outChannel(c, e.Src, e.Tag)
	l.remote = nil
	delete(p.partner(l.peer).got, e.Ticket)
	p.Out.Control(l.peer, variants.Envelope{Kind: variants.Revoked, Ticket: e.Ticket})
}

// takes reports whether a send can go into a buffer that stands.
func (o *remote) takes(r *variants.Request) bool {
	if o == nil || r.Mode == variants.Synchronous || r.Len() > o.size {
		return false
	}
	if o.partner.peer.Backlogged() {
		return false // the write would overtake what waits
	}
	return o.used-o.freed < standSlots
}

// write sends into the next of the buffers.
func (p *Protocol) write(o *remote, r *variants.Request) {
	x := o.partner
	var told *landing
	if len(x.owing) > 0 {
		told = x.owing[0]
		x.told(told)
	}
	n := notice(r.Len(), r.Ticket, x.sent, told)
	to := variants.Room{Window: o.windows[o.used%standSlots], Capacity: o.size}
	x.oneWay = false
	x.sent++
	o.used++
	p.Count.Standing++
	p.WriteBefore(x.peer, r, to, n)
}

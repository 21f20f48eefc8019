package ticket

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/channels"
)

// HYBRID of Small and Yuan, for package customized: a send that comes first leaves a copy, which its stand-in
// announces.
//
// Where the device lends, the stand-in is lent like any send. Where it can neither lend nor has agents, or has no room
// to offer the copy, the copy is written when the receiver's CTS or RTR arrives. Where it has agents, the RTS offers
// the copy: the receiver has the agent write it, also to a receive that has advertised, and an Ack ends the stand-in.
// The sender then drops an RTR that crosses its RTS.

// offered is the flag of an RTS whose data an agent can read, and crossed that of an Ack for a copy whose receive had
// been advertised.
const (
	offered = 1 << 2
	crossed = 1 << 2
)

// leavesCopy decides whether a send that comes first leaves a copy.
func (p *Protocol) leavesCopy(r *variants.Request) bool {
	return r.Mode == variants.Standard && r.Len() <= p.hybrid && p.choices.Copies(r)
}

// announce sends the RTS of a stand-in.
func (p *Protocol) announce(c *channels.Comm, l *channels.Out, s *variants.Request) {
	e := c.Envelope(variants.RTS, s.Tag, s.Ticket)
	if !p.agents || p.Room(s) != nil {
		p.Announce(l.Peer, e, s)
		return
	}
	e.Flags = offered
	w := p.Offer(s)
	p.Out.Control(l.Peer, e, uint64(s.Len()), w.Addr, w.Notify)
}

// fetch carries on a receive that an RTS has matched which offers a copy.
func (p *Protocol) fetch(c *channels.Comm, peer *variants.Peer, r *variants.Request, copied []byte) {
	err := error(nil)
	switch {
	case peer.Failed:
		p.Complete(r, variants.ErrPeerDied)
		return
	case r.Status.Size > r.Len():
		err = variants.ErrTruncate
	case !r.Advertised:
		err = p.Room(r)
	}
	if err != nil {
		p.release(c, r)
		p.Complete(r, err)
		return
	}
	to := r.Window
	if !r.Advertised {
		to = p.Expose(r)
	} else {
		r.Announced = true
		p.Unwatch(r)
		p.Count.Crossings++
	}
	r.Fetched = true
	src := rdmaeng.Window{Addr: variants.Word(copied, 0), Notify: variants.Word(copied, 1)}
	p.Fetch(peer, r, src, to)
}

// release tells the sender of a receive that its copy is free.
func (p *Protocol) release(c *channels.Comm, r *variants.Request) {
	e := c.Envelope(variants.Ack, r.Status.Tag, r.Ticket)
	if r.Advertised {
		e.Flags = crossed
	}
	p.Out.Control(p.Out.Peer(c.World(r.Status.Source)), e)
}

// released ends the stand-in of a copy.
func (p *Protocol) released(e variants.Envelope, r *variants.Request) {
	if e.Flags&crossed != 0 {
		p.choices.BothAtOnce(r)
	} else {
		p.choices.SenderFirst(r)
	}
}

package ticket

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// HYBRID of Small and Yuan, for package customized: a send that comes first leaves a copy, which its stand-in
// announces.
//
// Where the device lends, the stand-in is lent like any send. Where it can neither lend nor has agents, the copy is
// written when the receiver's CTS or RTR arrives. Where it has agents, the RTS offers the copy: the receiver has the
// agent write it, also to a receive that has advertised, and an Ack ends the stand-in. The sender then drops an RTR
// that crosses its RTS.

// offered is the flag of an RTS whose data an agent can read.
const offered = 1 << 2

// announce sends the RTS of a stand-in.
func (p *Protocol) announce(c *comm, l *outChannel, s *variants.Request) {
	e := c.Envelope(variants.RTS, s.Tag, s.Ticket)
	if !p.agents {
		p.Announce(l.peer, e, s)
		return
	}
	e.Flags = offered
	w := p.Offer(s)
	p.Out.Control(l.peer, e, uint64(s.Len()), w.Addr, w.Notify)
}

// fetch carries on a receive that an RTS has matched which offers a copy.
func (p *Protocol) fetch(c *comm, peer *variants.Peer, r *variants.Request, e variants.Envelope, copied []byte) {
	switch {
	case peer.Failed:
		p.Complete(r, variants.ErrPeerDied)
	case r.Status.Size > r.Len():
		p.Out.Control(peer, c.Envelope(variants.Ack, e.Tag, e.Ticket))
		p.Complete(r, variants.ErrTruncate)
	default:
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
}

// fetched tells the sender of a receive that an agent has written to that the copy is free.
func (p *Protocol) fetched(c *comm, r *variants.Request) {
	peer := p.Out.Peer(c.World(r.Status.Source))
	p.Out.Control(peer, c.Envelope(variants.Ack, r.Status.Tag, r.Ticket))
}

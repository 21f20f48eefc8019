// Package rtr is the first write-based protocol of the thesis (3.1, 3.2),
// write_based 1.0.
//
// Both sides advertise what they post first. A receive from a known source
// sends an RTR, a long send that finds none sends an RTS; if they cross, each
// serves as the other's answer. A long send that finds an RTR sends an Env, for
// the receiver's status, and writes. An eager send goes at once as EnvD, and to
// keep the two sides' views of who matches whom in step, its sender remembers it
// until an RTR has matched it or an Ack has come, and eager receives send RTRs
// too (thesis fig. 3.6 shows why).
//
// Both sides match in the order of posting, by (communicator, source, tag). An
// RTR may carry any tag, so the sender keeps RTRs and unmatched sends in the
// order of their (communicator, peer).
//
//	rtr.go     the protocol and its communicators
//	send.go    the sending side
//	recv.go    the receiving side, and suspension by any source
//	cancel.go  cancelling, and peers that die
//
// Package envless is the same protocol without Env: the field elide.
package rtr

import (
	"fmt"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Protocol is the state of one rank.
type Protocol struct {
	*variants.Core
	elide  bool // fast sends send no Env (thesis 3.3)
	number uint32
	comms  variants.Comms[comm]
}

// NeedsOrder implements variants.Protocol. Without the Env a message must not overtake the write before it, which it
// could match the receive of.
func (p *Protocol) NeedsOrder() rdmaeng.Order {
	if p.elide {
		return rdmaeng.AllOrder
	}
	return rdmaeng.MessagesInOrder | rdmaeng.DataFirst
}

// New makes the protocol of rank me of the job.
func New(me int, dev variants.Device) *Protocol {
	return &Protocol{Core: variants.NewCore(me, dev), comms: variants.NewComms[comm]()}
}

// NewElided makes the second protocol, see package envless.
func NewElided(me int, dev variants.Device) *Protocol {
	p := New(me, dev)
	p.elide = true
	return p
}

// comm is the state of a communicator.
type comm struct {
	*variants.Context
	variants.Matching
	dests     map[int32]*dest
	suspended int // posted receives from any source and extracted messages: they suspend RTRs
}

// dest is what a sender knows of one destination in a communicator.
type dest struct {
	posted variants.List[send]
	rtrs   []rtr // advertised receives that no send has matched
	peer   *variants.Peer
}

// rtr is a receive that its owner has advertised.
type rtr struct {
	variants.Room
	number uint32
	tag    int32 // or AnyTag
}

// Open implements variants.Protocol.
func (p *Protocol) Open(ctx *variants.Context) {
	p.comms.Open(ctx, &comm{Context: ctx, dests: make(map[int32]*dest)}, p.Deliver)
}

// Skip implements variants.Protocol.
func (p *Protocol) Skip(id, gen uint32) { p.comms.Skip(p.Core, id, gen) }

// Close implements variants.Protocol.
func (p *Protocol) Close(ctx *variants.Context) {
	p.Abandon(ctx, &p.comms.Of(ctx).Arrived)
	p.comms.Close(ctx)
}

func (p *Protocol) dest(c *comm, rank int32) *dest {
	d := c.dests[rank]
	if d == nil {
		d = &dest{peer: p.Out.Peer(c.World(rank))}
		c.dests[rank] = d
	}
	return d
}

func (p *Protocol) next() uint32 {
	p.number++
	return p.number
}

// Deliver implements variants.Protocol.
func (p *Protocol) Deliver(h packetizer.Header, payload []byte) {
	if p.elide {
		// A write that was complete before this message left must be seen
		// first: its receive is not for this message (thesis 3.3).
		p.Look(p.Notified)
	}
	c, e := p.comms.Route(p.Core, h, payload)
	if c == nil {
		return
	}
	switch e.Kind {
	case variants.EnvD:
		p.arrive(c, e, len(payload), payload)
	case variants.RTS:
		p.arrive(c, e, int(variants.Word(payload, 0)), nil)
	case variants.Env:
		p.onEnv(c, e, int(variants.Word(payload, 0)))
	case variants.RTR:
		p.onRTR(c, e, payload)
	case variants.CTS:
		p.onCTS(c, e, payload)
	case variants.Ack:
		p.onAck(c, e)
	case variants.CancelRecv:
		p.onCancelRecv(c, e, payload)
	case variants.CancelSend:
		p.onCancelSend(c, e, payload)
	case variants.CancelReply:
		p.onCancelReply(c, e)
	}
}

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	for c := range p.comms.All() {
		for r := range c.Posted.All() {
			state := "no message has arrived"
			switch {
			case r.Cancelling:
				state = "waits for the sender's answer to its cancelling"
			case r.Advertised:
				state = "RTR sent, no send has answered"
			}
			f(fmt.Sprintf("%s: %s", variants.Describe(r), state))
		}
		for d := range variants.InOrder(c.dests) {
			for s := d.posted.First(); s != nil; s = s.link.Next() {
				if s.r != nil {
					f(fmt.Sprintf("%s: no receive has answered", variants.Describe(s.r)))
				}
			}
		}
	}
	p.Unqueued(f)
}

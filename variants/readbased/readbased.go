// Package readbased is the baseline of the thesis (2.6): the MPI that the
// prototype had before. Only the sender initiates. A long send sends an RTS; the
// receive that matches it sends a CTS to the agent beside the sender, an R5
// processor, which writes on its behalf; the notification tells the receiver,
// and an Ack the sender, that the emulated read is over. Eager sends go at once
// as EnvD and leave no trace.
//
// The agent is part of the device (rdmaeng.Reader), not of the protocol: the
// sending rank sees nothing between its RTS and the Ack.
package readbased

import (
	"fmt"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Protocol is the state of one rank.
type Protocol struct {
	*variants.Core
	number uint32
	comms  variants.Comms[comm]
}

// comm is the state of a communicator.
type comm struct {
	*variants.Context
	variants.Matching
	sends variants.Queue // whose RTS or EnvDS is out
}

// NeedsOrder implements variants.Protocol.
func (p *Protocol) NeedsOrder() rdmaeng.Order { return rdmaeng.MessagesInOrder | rdmaeng.DataFirst }

// New makes the protocol of rank me of the job.
func New(me int, dev variants.ReadingDevice) *Protocol {
	return &Protocol{Core: variants.NewCore(me, dev), comms: variants.NewComms[comm]()}
}

// Open implements variants.Protocol.
func (p *Protocol) Open(ctx *variants.Context) {
	p.comms.Open(ctx, &comm{Context: ctx}, p.Deliver)
}

// Skip implements variants.Protocol.
func (p *Protocol) Skip(id, gen uint32) { p.comms.Skip(p.Core, id, gen) }

// Close implements variants.Protocol.
func (p *Protocol) Close(ctx *variants.Context) {
	p.Abandon(ctx, &p.comms.Of(ctx).Arrived)
	p.comms.Close(ctx)
}

func (p *Protocol) peer(c *comm, rank int32) *variants.Peer { return p.Out.Peer(c.World(rank)) }

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.eager(ctx, dst, tag, buf, false)
}

func (p *Protocol) eager(ctx *variants.Context, dst, tag int32, buf []byte, copied bool) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comms.Of(ctx)
	return p.Out.Eager(p.peer(c, dst), c.Envelope(variants.EnvD, tag, 0), buf, copied)
}

// PostSend implements variants.Protocol.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	peer := p.peer(c, r.Peer)
	p.Begin(r)
	if peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	if r.Mode == variants.Standard && r.Len() <= p.Limit() && p.eager(r.Ctx, r.Peer, r.Tag, r.Buf, true) {
		p.Complete(r, nil)
		return
	}
	p.number++
	r.Ticket = p.number
	c.sends.Push(r)
	if r.Len() <= p.Limit() {
		if r.Mode == variants.Synchronous && p.Out.Eager(peer, c.Envelope(variants.EnvDS, r.Tag, r.Ticket), r.Buf,
			true) {
			p.Await(peer)
			return
		}
		p.Count.NoCredit++
		p.Await(peer)
	}
	if err := p.Room(r); err != nil {
		c.sends.Remove(r)
		p.Complete(r, err)
		return
	}
	w := p.Offer(r)
	p.Out.Control(peer, c.Envelope(variants.RTS, r.Tag, r.Ticket), uint64(r.Len()), w.Addr, w.Notify)
}

// PostRecv implements variants.Protocol.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	p.Begin(r)
	if m := c.Post(p.Core, r); m != nil {
		p.receive(c, r, m.Envelope, m.Size, m.Data)
		p.Recycle(m)
	}
}

// Deliver implements variants.Protocol.
func (p *Protocol) Deliver(h packetizer.Header, payload []byte) {
	c, e := p.comms.Route(p.Core, h, payload)
	if c == nil {
		return
	}
	switch e.Kind {
	case variants.EnvD, variants.EnvDS:
		p.arrive(c, e, len(payload), payload)
	case variants.RTS:
		p.arrive(c, e, int(variants.Word(payload, 0)), payload)
	case variants.Ack:
		if r := c.sends.Find(&p.Done, e.Ticket); r != nil {
			c.sends.Remove(r)
			p.Complete(r, nil)
		}
	case variants.CancelSend:
		p.onCancelSend(c, e, payload)
	case variants.CancelReply:
		p.onCancelReply(c, e)
	}
}

func (p *Protocol) arrive(c *comm, e variants.Envelope, size int, payload []byte) {
	if r := c.Match(&p.Done, e.Src, e.Tag); r != nil {
		p.receive(c, r, e, size, payload)
		return
	}
	c.Arrived.Keep(p.Unexpected(e, size, payload))
}

// receive carries on a receive that a message has matched. For an RTS payload
// is that of the RTS.
func (p *Protocol) receive(c *comm, r *variants.Request, e variants.Envelope, size int, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	peer := p.peer(c, e.Src)
	r.Ticket = e.Ticket
	if e.Kind != variants.RTS {
		p.Out.Consumed(peer, size)
		if e.Kind == variants.EnvDS {
			p.Out.Control(peer, c.Envelope(variants.Ack, e.Tag, e.Ticket))
		}
		p.Fill(r, payload)
		return
	}
	if peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	err := variants.ErrTruncate
	if size <= r.Len() {
		err = p.Room(r)
	}
	if err != nil {
		p.Out.Control(peer, c.Envelope(variants.Ack, e.Tag, e.Ticket)) // nothing to read
		p.Complete(r, err)
		return
	}
	src := rdmaeng.Window{Addr: variants.Word(payload, 1), Notify: variants.Word(payload, 2)}
	p.Fetch(peer, r, src, p.Expose(r))
}

// Notified implements variants.Protocol: the read is over.
func (p *Protocol) Notified(slot int, n rdmaeng.Notification) {
	r := p.Exposed(slot)
	if r == nil {
		return
	}
	c := p.comms.Of(r.Ctx)
	p.Out.Control(p.peer(c, r.Status.Source), c.Envelope(variants.Ack, r.Status.Tag, r.Ticket))
	p.Written(r, n)
}

// Probe implements variants.Protocol.
func (p *Protocol) Probe(ctx *variants.Context, src, tag int32) (variants.Status, bool, error) {
	return p.comms.Of(ctx).Probe(p.Core, ctx, src, tag)
}

// Extract implements variants.Protocol.
func (p *Protocol) Extract(ctx *variants.Context, src, tag int32) (*variants.Message, bool, error) {
	return p.comms.Of(ctx).Extract(p.Core, ctx, src, tag)
}

// PostMatched implements variants.Protocol.
func (p *Protocol) PostMatched(r *variants.Request, m *variants.Message) {
	p.BeginMatched(r, m)
	p.receive(p.comms.Of(r.Ctx), r, m.Envelope, m.Size, m.Data)
	p.Recycle(m)
}

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	for c := range p.comms.All() {
		for r := range c.Posted.All() {
			f(fmt.Sprintf("%s: no message has arrived", variants.Describe(r)))
		}
		for r := range c.sends.All() {
			f(fmt.Sprintf("%s: no Ack has arrived", variants.Describe(r)))
		}
	}
	p.Unqueued(f)
}

// Package toy is the smallest protocol that is right: short messages go at once, all others by rendezvous. It
// exists to be read. docs/adding-a-protocol.md builds it step by step, and the explorer tries it like the others;
// no program can choose it.
//
//	a standard send that is short   EnvD
//	any other send                  RTS, CTS, write
//
// The receiver alone matches, in the order in which messages arrive from a sender. Each RTS has a number, which
// its CTS brings back.
package toy

import (
	"fmt"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Protocol is the state of one rank.
type Protocol struct {
	*variants.Core
	comms  variants.Comms[comm]
	number uint32 // of the last RTS
}

// comm is the state of a communicator.
type comm struct {
	*variants.Context
	variants.Matching                // receives that are posted, messages that have arrived
	sends             variants.Queue // whose RTS is out
}

// NeedsOrder implements variants.Protocol.
func (p *Protocol) NeedsOrder() rdmaeng.Order { return rdmaeng.MessagesInOrder | rdmaeng.DataFirst }

// New makes the protocol of rank me of the job.
func New(me int, dev variants.Device) *Protocol {
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
	return p.eager(p.comms.Of(ctx), dst, tag, buf, false)
}

func (p *Protocol) eager(c *comm, dst, tag int32, buf []byte, copied bool) bool {
	return len(buf) <= p.Limit() && p.Out.Eager(p.peer(c, dst), c.Envelope(variants.EnvD, tag, 0), buf, copied)
}

// PostSend implements variants.Protocol.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	peer := p.peer(c, r.Peer)
	short := r.Len() <= p.Limit()
	p.Begin(r)
	switch {
	case peer.Failed:
		p.Complete(r, variants.ErrPeerDied)
		return
	case short && r.Mode == variants.Standard && p.eager(c, r.Peer, r.Tag, r.Buf, true):
		p.Complete(r, nil)
		return
	case short:
		p.Await(peer)
	}
	p.number++
	r.Ticket = p.number
	c.sends.Push(r)
	p.Out.Control(peer, c.Envelope(variants.RTS, r.Tag, r.Ticket), uint64(r.Len()))
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
	case variants.EnvD:
		p.arrive(c, e, len(payload), payload)
	case variants.RTS:
		p.arrive(c, e, int(variants.Word(payload, 0)), nil)
	case variants.CTS:
		r := c.sends.Find(&p.Done, e.Ticket)
		c.sends.Remove(r)
		p.Cleared(p.peer(c, e.Src), r, variants.RoomOf(payload))
	case variants.CancelSend:
		peer := p.peer(c, e.Src)
		p.AnswerCancel(peer, e, payload, p.TakeBack(peer, &c.Arrived, e))
	case variants.CancelReply:
		if r := c.sends.Find(&p.Done, e.Ticket); p.CancelAnswered(e, r) {
			c.sends.Remove(r)
			p.Cancelled(r)
		}
	}
}

// arrive matches a message with a receive, or keeps it for one.
func (p *Protocol) arrive(c *comm, e variants.Envelope, size int, payload []byte) {
	if r := c.Match(&p.Done, e.Src, e.Tag); r != nil {
		p.receive(c, r, e, size, payload)
		return
	}
	c.Arrived.Keep(p.Unexpected(e, size, payload))
}

// receive carries on a receive that a message has matched.
func (p *Protocol) receive(c *comm, r *variants.Request, e variants.Envelope, size int, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: size}
	peer := p.peer(c, e.Src)
	if e.Kind == variants.RTS {
		p.Clear(peer, c.Envelope(variants.CTS, e.Tag, e.Ticket), r, size)
		return
	}
	p.Out.Consumed(peer, size)
	p.Fill(r, payload)
}

// Notified implements variants.Protocol: the write has ended.
func (p *Protocol) Notified(slot int, n rdmaeng.Notification) {
	if r := p.Exposed(slot); r != nil {
		p.Written(r, n)
	}
}

// Cancel implements variants.Protocol. Nobody else knows of a receive that is posted; whether a send is matched,
// only its receiver does.
func (p *Protocol) Cancel(r *variants.Request) {
	if !p.Cancellable(r) {
		return
	}
	c := p.comms.Of(r.Ctx)
	if r.Recv {
		c.Posted.Remove(r)
		p.Cancelled(r)
		return
	}
	p.AskCancel(p.peer(c, r.Peer), c.Envelope(variants.CancelSend, r.Tag, r.Ticket), r)
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

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	if p.Died(int32(world)) {
		for c := range p.comms.All() {
			p.FailHopeless(&c.sends)
			p.FailHopeless(&c.Posted)
		}
	}
}

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	for c := range p.comms.All() {
		for r := range c.Posted.All() {
			f(fmt.Sprintf("%s: no message has arrived", variants.Describe(r)))
		}
		for r := range c.sends.All() {
			f(fmt.Sprintf("%s: no CTS has arrived", variants.Describe(r)))
		}
	}
	p.Unqueued(f)
}

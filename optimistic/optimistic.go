// Package optimistic is the speculative protocol of the thesis (3.14). It
// assumes what MPI does not promise:
//
//   - no receive is from any source, and nothing is probed for;
//   - eager sends match eager receives and long sends long ones.
//
// Then only receivers need initiate: a long receive sends an RTR, a long send
// waits for one, and neither needs a ticket, a place among the posted receives,
// or protection against the other side's initiative. Eager messages are matched
// as in the read-based protocol.
//
// Short messages have no rendezvous to fall back on, so they go whatever the
// peer's credit is: the receiver's memory is the bound.
//
// A program that breaks the assumptions would hang, or match wrongly. It gets an
// error instead, see position.go and ask.go.
//
//	optimistic.go  the protocol and its communicators
//	send.go        the sending side
//	recv.go        the receiving side
//	position.go    programs that break the assumptions: what messages tell
//	ask.go         the same: what nobody is told
//	cancel.go      cancelling, and peers that die
package optimistic

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// ErrAssumption is the error of calls that the protocol does not support.
var ErrAssumption = errors.New("the protocol optimistic does not allow this: use ticket (EXANET_VARIANT=ticket)")

// Protocol is the state of one rank.
type Protocol struct {
	*variants.Core
	number  uint32
	comms   variants.Comms[comm]
	counted int // tags of a remote
}

// comm is the state of a communicator.
type comm struct {
	*variants.Context
	variants.Matching                   // eager receives and messages
	peers             map[int32]*remote // by rank

	last  *remote // looked up last
	eager uint64  // Head of EnvDs at known positions
}

// remote is the state towards one other rank of a communicator.
type remote struct {
	rank     int32
	peer     *variants.Peer
	posted   variants.Queue     // long sends that wait for an RTR
	synced   variants.Queue     // eager synchronous sends that wait for an Ack
	rtrs     []rtr              // advertised receives that no send has matched
	channels map[int32]*channel // by tag
	counted  int                // of those at most
	rest     channel            // of all other tags: not counted
	sent     uint32             // messages that end eager receives: eager ones, and ends of long sends
	got      uint32             // of the peer's
	news     bool               // something has happened since the last Doubt
	asked    bool               // the peer waits for something that was not here when it asked (ask.go)
	// loose: positions no longer tell which send belongs to which receive,
	// since a receive of any tag was posted or a request cancelled.
	loose bool
	told  bool // and the peer knows

	last *channel // looked up last
}

// channel is a tag of a remote: it counts, so that wrong matches are noticed.
type channel struct {
	tag            int32
	counts         bool
	sent, received uint32 // operations posted here
}

// rtr is a receive that its owner has advertised.
type rtr struct {
	variants.Room
	number   uint32
	tag      int32 // or AnyTag
	position position
}

// NeedsOrder implements variants.Protocol, as package ticket.
func (p *Protocol) NeedsOrder() rdmaeng.Order { return rdmaeng.AllOrder }

// New makes the protocol of rank me of the job.
func New(me int, dev variants.Device) *Protocol { return NewCounting(me, dev, channelsCounted) }

// NewCounting is New with another number of tags of a remote that are counted, for those
// who want to see what becomes of the others.
func NewCounting(me int, dev variants.Device, tags int) *Protocol {
	return &Protocol{Core: variants.NewCore(me, dev), comms: variants.NewComms[comm](), counted: tags}
}

// Open implements variants.Protocol.
func (p *Protocol) Open(ctx *variants.Context) {
	c := &comm{Context: ctx, peers: make(map[int32]*remote)}
	c.eager = c.envelope(variants.EnvD, 0, position{known: true}).Head()
	p.comms.Open(ctx, c, p.Deliver)
}

// Skip implements variants.Protocol.
func (p *Protocol) Skip(id, gen uint32) { p.comms.Skip(p.Core, id, gen) }

// Close implements variants.Protocol.
func (p *Protocol) Close(ctx *variants.Context) {
	p.Abandon(ctx, &p.comms.Of(ctx).Arrived)
	p.comms.Close(ctx)
}

func (p *Protocol) remote(c *comm, rank int32) *remote {
	if r := c.last; r != nil && r.rank == rank {
		return r
	}
	r := c.peers[rank]
	if r == nil {
		r = &remote{rank: rank, peer: p.Out.Peer(c.World(rank)), channels: make(map[int32]*channel), counted: p.counted}
		c.peers[rank] = r
	}
	c.last = r
	return r
}

// channelsCounted is how many tags of a remote are counted: those that are used
// first. A program may use a fresh one for every message.
const channelsCounted = 1024

func (r *remote) channel(tag int32) *channel {
	if l := r.last; l != nil && l.tag == tag {
		return l
	}
	l := r.channels[tag]
	if l == nil {
		if len(r.channels) == r.counted {
			return &r.rest
		}
		l = &channel{tag: tag, counts: true}
		r.channels[tag] = l
	}
	r.last = l
	return l
}

func (p *Protocol) next() uint32 {
	p.number++
	return p.number
}

// envelope makes the envelope of a message about the operation at a position.
func (c *comm) envelope(k variants.Kind, tag int32, at position) variants.Envelope {
	e := c.Envelope(k, tag, at.n)
	if at.known {
		e.Flags = flagKnown
	}
	return e
}

// Deliver implements variants.Protocol.
func (p *Protocol) Deliver(h packetizer.Header, payload []byte) {
	if p.deliverShort(h, payload) {
		return
	}
	c, e := p.comms.Route(p.Core, h, payload)
	if c == nil {
		return
	}
	if e.Kind != variants.Query {
		p.remote(c, e.Src).news = true
	}
	switch e.Kind {
	case variants.EnvD, variants.EnvDS:
		p.arrive(c, e, payload)
	case variants.RTR:
		p.onRTR(c, e, payload)
	case variants.Ack:
		p.onAck(c, e)
	case variants.Query:
		p.onQuery(c, e, payload)
	case variants.Mismatch:
		p.onMismatch(c, e, payload)
	case variants.CancelRecv:
		p.onCancelRecv(c, e, payload)
	case variants.CancelSend:
		p.onCancelSend(c, e, payload)
	case variants.CancelReply:
		p.onCancelReply(c, e, payload)
	}
}

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	tell := func(q *variants.Queue, state string) {
		for r := range q.All() {
			f(fmt.Sprintf("%s: %s", variants.Describe(r), state))
		}
	}
	for c := range p.comms.All() {
		tell(&c.Posted, "no message has arrived")
		for m := range variants.InOrder(c.peers) {
			tell(&m.posted, "no RTR has arrived")
			tell(&m.synced, "EnvDS sent, no receive has matched")
		}
	}
	p.Each(func(r *variants.Request) {
		if r.Advertised && r.Recv {
			f(fmt.Sprintf("%s: RTR sent, no send has answered", variants.Describe(r)))
		}
	})
	p.Unqueued(f)
}

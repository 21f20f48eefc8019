// Package ticket is the third write-based protocol of the thesis (3.5, 3.6),
// write_based 3.0.
//
// Either side may initiate a long transfer: the sender by an RTS, which the
// receiver answers with a CTS, or the receiver by an RTR. The write follows, and
// its notification carries the envelope, so no Env is needed (3.3). Messages up
// to the device's limit go as one EnvD, which leaves no trace at the sender, and
// receives of at most that size send nothing.
//
// An RTR can therefore reach a sender after the eager message that its receive
// has taken. Tickets tell: the sends of a rank are numbered for each
// (communicator, destination, tag), the receives of a rank for each
// (communicator, source, tag), and in a correct program the send and the receive
// with the same number match. A channel is one such triple at one end.
//
//	ticket.go    the protocol, its communicators and channels
//	send.go      the sending side
//	recv.go      the receiving side
//	suspend.go   wildcards
//	cancel.go    cancelling
//	failure.go   peers that die
//	forget.go    channels that are not used any more
//	lease.go     channels that a fast path has
//	hybrid.go    sends that leave a copy (package customized)
//	history.go   choices by what has been counted (package auto)
//	choices.go   what they are, in words
//	stand.go     buffers that stand (package standing)
//
// Where this goes beyond the thesis:
//
//   - RTS, EnvD, EnvDS and CTS carry the ticket as well. A message is matched to
//     the receive with its ticket if there is one, so it does not matter in which
//     order messages and the notifications of writes are seen, and Env is not
//     needed under MPI_THREAD_MULTIPLE either (thesis fig. 3.19).
//   - A receive that is posted while a wildcard suspends its channel has no ticket.
//     When the suspension is lifted such receives get their tickets, in posting
//     order, before any newer receive.
//   - Cancelling a ticketed receive asks the sender to skip the ticket; see
//     cancel.go.
package ticket

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Protocol is the state of one rank.
type Protocol struct {
	*variants.Core
	comms  variants.Comms[comm]
	first  uint32            // ticket of a new channel: 0, but in a test of the wrap-around
	keep   int               // channels to receive of a communicator, see forget.go
	lessee variants.FastPath // nil: there is no fast path
	rule   *Rule             // of package auto, else nil
	hybrid int               // bytes up to which a send that comes first leaves a copy, see NewHybrid
	agents bool              // which read copies
	stand  stands            // see stand.go
}

// NeedsOrder implements variants.Protocol: a peer that has closed a communicator agrees to cancel a receive, which must
// have got by then what the peer has written into it.
func (p *Protocol) NeedsOrder() rdmaeng.Order { return rdmaeng.AllOrder }

// New makes the protocol of rank me of the job.
func New(me int, dev variants.Device) *Protocol { return NewKeeping(me, dev, channelsKept) }

// NewHybrid is New with sends of up to so many bytes that leave a copy and complete where no receive has been
// advertised yet, see package customized.
func NewHybrid(me int, dev variants.Device, most int) *Protocol {
	p := New(me, dev)
	p.hybrid = most
	_, lends := dev.(rdmaeng.Lender)
	_, reads := dev.(rdmaeng.Reader)
	p.agents = reads && !lends
	p.Elide()
	return p
}

// NewKeeping is New with another number of idle channels that are kept, for those
// who want to see how they are forgotten.
func NewKeeping(me int, dev variants.Device, channels int) *Protocol {
	return &Protocol{Core: variants.NewCore(me, dev), comms: variants.NewComms[comm](), keep: channels}
}

// comm is the state of a communicator.
type comm struct {
	*variants.Context
	eager uint64 // Head of its EnvDs

	in      map[uint64]*inChannel
	out     map[uint64]*outChannel
	lastIn  *inChannel
	lastOut *outChannel

	arrived variants.Unmatched
	order   uint64 // of posting

	sends    map[class]*sends // see history.go
	receives map[class]*receives

	wild      variants.Queue // posted receives with a wildcard
	anySource int            // of those, with AnySource
	anyTag    map[int32]int  // by source, with AnyTag only
	held      []*inChannel   // channels that have receives without a ticket

	channels []*inChannel // those of in
	hand     int          // the next of them that forget looks at
	asked    int          // of them, forgetting

	spareIn  []*inChannel // forgotten
	spareOut []*outChannel
}

// inChannel is a (communicator, source, tag) at the receiver.
type inChannel struct {
	src, tag int32
	world    int32 // src's rank in the job

	variants.Lease       // Next is the ticket of the next message that no ticketed receive waits for
	skip           spans // tickets of cancelled sends
	posted         variants.Queue
	unticketed     int  // receives at the end of posted without a ticket
	held           bool // in comm.held
	forgetting     bool // the sender has been asked to forget the channel
	at             int  // in comm.channels
	unexpected     variants.List[variants.Message]
	peer           *variants.Peer
	landing        *landing // see stand.go
	home           uint64   // of the last long receive
	times          int      // how many before it had the same
}

// outChannel is a (communicator, destination, tag) at the sender.
type outChannel struct {
	dst, tag int32

	variants.Lease       // Next is the ticket of the next send
	skip           spans // tickets of cancelled receives
	posted         variants.Queue
	rtrs           []rtr // received receives, by ticket
	peer           *variants.Peer
	header         packetizer.Header // of the next EnvD, if nothing else is sent before
	remote         *remote           // see stand.go
}

// rtr is a receive that its owner has advertised.
type rtr struct {
	variants.Room
	ticket uint32
}

func key(peer, tag int32) uint64 { return uint64(uint32(peer))<<32 | uint64(uint32(tag)) }

// before compares tickets as serial numbers: they wrap around.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// Open implements variants.Protocol.
func (p *Protocol) Open(ctx *variants.Context) {
	c := &comm{Context: ctx, anyTag: make(map[int32]int)}
	c.sends, c.receives = make(map[class]*sends), make(map[class]*receives)
	c.in, c.out = make(map[uint64]*inChannel), make(map[uint64]*outChannel)
	c.eager = c.Envelope(variants.EnvD, 0, 0).Head()
	p.comms.Open(ctx, c, p.Deliver)
}

// Skip implements variants.Protocol.
func (p *Protocol) Skip(id, gen uint32) { p.comms.Skip(p.Core, id, gen) }

// Close implements variants.Protocol.
func (p *Protocol) Close(ctx *variants.Context) {
	p.RevokeAll()
	c := p.comms.Of(ctx)
	p.Abandon(ctx, &c.arrived)
	p.closeStands(c)
	p.comms.Close(ctx)
}

// inChannel is the channel of messages from a rank, whose lease it revokes.
func (p *Protocol) inChannel(c *comm, src, tag int32) *inChannel {
	l := p.lookIn(c, src, tag)
	if l.Granted {
		p.lessee.Revoke(&l.Lease)
	}
	return l
}

// lookIn is inChannel for who does not need its number.
func (p *Protocol) lookIn(c *comm, src, tag int32) *inChannel {
	if l := c.lastIn; l != nil && l.src == src && l.tag == tag {
		return l
	}
	return p.findIn(c, src, tag)
}

// findIn is lookIn for another channel than the last.
func (p *Protocol) findIn(c *comm, src, tag int32) *inChannel {
	l := c.in[key(src, tag)]
	if l == nil {
		peer := p.Out.Peer(c.World(src))
		l = c.newIn()
		*l = inChannel{src: src, tag: tag, world: peer.World, peer: peer, Lease: variants.Lease{Next: p.first}}
		c.in[key(src, tag)] = l
		p.note(c, l)
	}
	c.lastIn = l
	return l
}

// outChannel is the channel of messages to a rank, whose lease it revokes.
func (p *Protocol) outChannel(c *comm, dst, tag int32) *outChannel {
	l := p.lookOut(c, dst, tag)
	if l.Granted {
		p.lessee.Revoke(&l.Lease)
	}
	return l
}

// lookOut is outChannel for who does not need its number.
func (p *Protocol) lookOut(c *comm, dst, tag int32) *outChannel {
	if l := c.lastOut; l != nil && l.dst == dst && l.tag == tag {
		return l
	}
	return p.findOut(c, dst, tag)
}

// findOut is lookOut for another channel than the last.
func (p *Protocol) findOut(c *comm, dst, tag int32) *outChannel {
	l := c.out[key(dst, tag)]
	if l == nil {
		l = c.newOut()
		*l = outChannel{dst: dst, tag: tag, peer: p.Out.Peer(c.World(dst)), Lease: variants.Lease{Next: p.first},
			rtrs: l.rtrs[:0], header: p.Out.Pack(c.Envelope(variants.EnvD, tag, p.first))}
		c.out[key(dst, tag)] = l
	}
	c.lastOut = l
	return l
}

// Deliver takes a message from the mailbox. It does not keep payload.
func (p *Protocol) Deliver(h packetizer.Header, payload []byte) {
	if p.deliverShort(h, payload) {
		return
	}
	if p.stand.most > 0 {
		p.Look(p.Notified)
		if p.standing(h, payload) {
			return
		}
	}
	c, e := p.comms.Route(p.Core, h, payload)
	if c == nil {
		return
	}
	switch e.Kind {
	case variants.EnvD, variants.EnvDS:
		p.arrive(c, e, len(payload), payload)
	case variants.RTS:
		size := int(variants.Word(payload, 0))
		p.hungers(p.inChannel(c, e.Src, e.Tag), size)
		p.arrive(c, e, size, variants.Lent(payload))
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
	case variants.Stand:
		p.onStand(c, e, payload)
	case variants.Revoke:
		p.onRevoke(c, e)
	case variants.Forget:
		p.onForget(c, e, payload)
	case variants.Forgotten:
		p.onForgotten(c, e, payload)
	}
}

// standing takes the messages about buffers that stand which are for no communicator.
func (p *Protocol) standing(h packetizer.Header, payload []byte) bool {
	switch e := variants.Unpack(h); e.Kind {
	case variants.Freed:
		p.onFreed(e, payload)
	case variants.Revoked:
		p.onRevoked(e)
	default:
		return false
	}
	return true
}

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
//	ticket.go    the protocol: what is opened, and what is delivered
//	send.go      the sending side
//	recv.go      the receiving side
//	cancel.go    cancelling
//	hybrid.go    sends that leave a copy
//	stand.go     buffers that stand
//	describe.go  what waits for what
//
// Package channels keeps the channels: their numbers, and which receive takes which message. Three protocols are this
// one with more: customized leaves copies, auto chooses by what it has counted (package auto), and standing gives
// buffers (package standing).
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
	"github.com/exanet-mpi/exanet/variants/auto"
	"github.com/exanet-mpi/exanet/variants/channels"
	"github.com/exanet-mpi/exanet/variants/standing"
)

// Protocol is the state of one rank.
type Protocol struct {
	channels.Table
	choices *auto.Choices     // nil: as without package auto
	hybrid  int               // bytes up to which a send that comes first leaves a copy, see NewHybrid
	agents  bool              // which read copies
	stands  *standing.Buffers // nil: there are none
}

// NeedsOrder implements variants.Protocol: a peer that has closed a communicator agrees to cancel a receive, which must
// have got by then what the peer has written into it.
func (p *Protocol) NeedsOrder() rdmaeng.Order { return rdmaeng.AllOrder }

// New makes the protocol of rank me of the job.
func New(me int, dev variants.Device) *Protocol { return NewKeeping(me, dev, channels.Kept) }

// NewKeeping is New with another number of idle channels that are kept, for those
// who want to see how they are forgotten.
func NewKeeping(me int, dev variants.Device, kept int) *Protocol {
	p := new(Protocol)
	p.Table = channels.New(variants.NewCore(me, dev), kept, p.advertise)
	return p
}

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

// NewAuto is NewHybrid with choices, see package auto.
func NewAuto(me int, dev variants.Device, most int, rule auto.Rule) *Protocol {
	p := NewHybrid(me, dev, most)
	if p.agents {
		rule.Crossed = rule.Late // a copy that is not needed is read all the same, and takes an Ack
	}
	p.choices = auto.New(rule)
	return p
}

// NewStanding is New with buffers of up to so many bytes for receives that so many of the same buffer have come before,
// see package standing.
func NewStanding(me int, dev variants.Device, most, after int) *Protocol {
	p := New(me, dev)
	p.stands = standing.New(dev, most, after)
	return p
}

// Choices tells what the protocol has counted and come to, a line for each kind of messages.
func (p *Protocol) Choices(f func(line string)) { p.choices.Lines(f) }

// Open implements variants.Protocol.
func (p *Protocol) Open(ctx *variants.Context) { p.Add(ctx, p.Deliver) }

// Close implements variants.Protocol.
func (p *Protocol) Close(ctx *variants.Context) {
	p.closeStands(p.Of(ctx))
	p.choices.Close(ctx)
	p.Remove(ctx)
}

// PeerFailed implements variants.Protocol.
func (p *Protocol) PeerFailed(world int) {
	w := int32(world)
	if !p.Died(w) {
		return
	}
	if p.stands != nil {
		p.stands.Fail(w)
	}
	p.FailPeer(w)
}

// Deliver takes a message from the mailbox. It does not keep payload.
func (p *Protocol) Deliver(h packetizer.Header, payload []byte) {
	if p.deliverShort(&h, payload) {
		return
	}
	if p.stands != nil {
		p.Look(p.Notified)
		if p.standing(h, payload) {
			return
		}
	}
	c, e := p.Route(h, payload)
	if c == nil {
		return
	}
	switch e.Kind {
	case variants.EnvD, variants.EnvDS:
		p.arrive(c, e, len(payload), payload)
	case variants.RTS:
		size := int(variants.Word(payload, 0))
		p.hungers(p.In(c, e.Src, e.Tag).Landing, size)
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
		p.OnForget(c, e, payload)
	case variants.Forgotten:
		p.OnForgotten(c, e, payload)
	}
}

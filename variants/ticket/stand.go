package ticket

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Buffers that stand, for package standing (thesis 6.2): sends without a rendezvous.
//
// A receiver that posts the same receive again and again gives the sender two buffers of its own for the channel, by
// one Stand. From then on such a receive sends no RTR. A send takes the buffers in turn: it is one write, whose
// notification has the ticket, and it completes with the write. The receiver copies the message to the receive with
// that ticket; until one is posted, the message waits in the buffer as an unexpected one. The write never touches the
// program's memory, so nothing is assumed of the time between two uses of it.
//
// A buffer may be used again when its message has been received. The sender learns so from the number of uses that are
// over. That number travels in the notifications of the writes of the other direction, so it costs nothing while
// messages go both ways. A sender that has no buffer left sends an RTS, as ever; its receiver then knows that nothing
// goes back, and tells it by a Freed whenever both buffers are free.
//
// # Order
//
// A write into such a buffer matches like a message, so it must be seen where it was sent, among all messages of the
// pair: a receive of any tag could take any of them.
//
//   - No later message leaves before the write is done (Core.WriteBefore), and the receiver takes the notifications
//     that are there before it looks at a message (Deliver, next).
//   - An earlier message is delivered before the write is shown: the device promises that (rdmaeng.MessagesFirst). A
//     message that waits for the device is not overtaken: the send goes by RTS behind it.
//   - Writes are numbered for each pair. One that is shown early waits for those before (landed).
//
// # The end
//
// The receiver ends it by a Revoke: when a receive has another buffer or is cancelled, and when the communicator is
// closed. The sender drops the buffers and answers Revoked, which leaves behind its last write; then nothing is on its
// way, and the receiver takes them back. Numbers of buffers are used again only then.
//
//	stand.go       what both sides have
//	stand_recv.go  the receiver: gives, takes what lands, revokes
//	stand_send.go  the sender

const (
	standSlots = 2       // buffers of a channel
	standMost  = 256     // channels of a rank that have some
	standRoom  = 4 << 20 // bytes of all of them
)

// stands is what a rank has of buffers that stand.
type stands struct {
	most  int // size of a buffer in bytes; 0: there are none
	after int // so many receives of the same buffer come before one that gives

	given    []*landing         // by number; nil: free
	slots    map[int]*landing   // by slot of the device
	held     int                // bytes
	partners map[int32]*partner // by rank in the job
}

// partner is what this rank and another have of each other.
type partner struct {
	peer   *variants.Peer
	sent   uint32 // writes into buffers of the other
	shown  uint32 // writes into our own that have been dealt with
	early  []early
	oneWay bool               // the other has had no buffer for a send, and this rank has written nothing to it since
	owing  []*landing         // with uses that are over, which the other has not been told
	got    map[uint32]*remote // buffers of the other, by number
}

// Of a write's notification, the second word is the ticket, and the third has three numbers: which write of the pair it
// is, which buffers its sender tells of, and how many of their uses are over.
const (
	orderBits  = 10
	numberBits = 10 // 0: it tells of none
	usesBits   = 11
)

// notice makes the notification of a write into a buffer that stands.
func notice(size int, ticket, order uint32, told *landing) rdmaeng.Notification {
	w := order & (1<<orderBits - 1)
	if told != nil {
		w |= (told.number+1)<<orderBits | told.freed&(1<<usesBits-1)<<(orderBits+numberBits)
	}
	return rdmaeng.Notification{int32(size), int32(ticket), int32(w), 0}
}

// partner returns what this rank and another have of each other.
func (p *Protocol) partner(peer *variants.Peer) *partner {
	x := p.stand.partners[peer.World]
	if x == nil {
		x = &partner{peer: peer, got: make(map[uint32]*remote)}
		p.stand.partners[peer.World] = x
	}
	return x
}

// NewStanding is New with buffers that stand, of up to so many bytes each, for receives that so many of the same
// buffer have come before, see package standing. There are none where the device does not promise what they need.
func NewStanding(me int, dev variants.Device, most, after int) *Protocol {
	p := New(me, dev)
	if dev.Order()&rdmaeng.Standing == rdmaeng.Standing {
		p.stand = stands{most: most, after: after, slots: make(map[int]*landing), partners: make(map[int32]*partner)}
	}
	return p
}

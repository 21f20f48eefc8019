package variants

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Kind is the type of a control message.
type Kind uint8

// The control messages of the thesis (2.6, 3.1, 3.10), and three that it does
// not have: they give cancelling and flow control a form that needs no shared
// memory.
const (
	RTS         Kind = 1 + iota // a long send is posted
	CTS                         // the receive that an RTS matched is ready for the write
	RTR                         // a long receive is posted
	Env                         // envelope of a write that no RTS has announced
	EnvD                        // envelope and data of an eager send
	EnvDS                       // the same, of a synchronous send: wants an Ack
	Ack                         // a receive has matched
	CancelRecv                  // may the receive with this ticket be taken back?
	CancelSend                  // may the send with this ticket be taken back?
	CancelReply                 // yes or no
	Credit                      // so many bytes of unexpected messages have been consumed
	Query                       // what do you have at this position? (package optimistic)
	Mismatch                    // something does not fit (package optimistic)
	Forget                      // may the counts of these tags be forgotten? (package ticket)
	Forgotten                   // of which the sender has
	Left                        // the sender has closed a communicator that the receiver counts, see Core.Leave
	Stand                       // two buffers of mine that your sends may use from now on (package standing)
	Freed                       // so many uses of them are over
	Revoke                      // do not use them any more
	Revoked                     // I do not; all that I have written is there
	Landed                      // no message: what has been written into such a buffer
	Kinds
)

var kindNames = [Kinds]string{"", "RTS", "CTS", "RTR", "Env", "EnvD", "EnvDS", "Ack",
	"CancelRecv", "CancelSend", "CancelReply", "Credit", "Query", "Mismatch", "Forget", "Forgotten", "Left",
	"Stand", "Freed", "Revoke", "Revoked", "Landed"}

func (k Kind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return "unknown"
}

// Envelope is the matching information that every message carries: 20 of its
// 24 header bytes, the other 4 being the device's.
//
//	word 0   bits 32-36 kind, 37-39 flags, 40-63 generation of the communicator
//	word 1   id of the communicator, sender's rank in the job
//	word 2   tag, ticket
type Envelope struct {
	Kind  Kind
	Flags uint8  // three bits
	Ctx   uint32 // communicator
	Gen   uint32 // and which use of its id; 24 bits
	// rank of the message's sender: in the job on the way, in the communicator once Comms.Route has seen it
	Src    int32
	Tag    int32
	Ticket uint32 // number of the send or receive in its (communicator, peer, tag), thesis 3.5
}

// Envelope starts a message of the communicator to the rank of the job that the Outbox is told.
func (c *Context) Envelope(k Kind, tag int32, ticket uint32) Envelope {
	return Envelope{Kind: k, Ctx: c.ID, Gen: c.Gen, Tag: tag, Ticket: ticket}
}

const (
	kindBits = 5
	genShift = 8 // of kind, flags and generation
	genMask  = 1<<24 - 1
)

// head is the half of word 0 that is ours.
func (e Envelope) head() uint32 {
	return uint32(e.Kind) | uint32(e.Flags)<<kindBits | e.Gen<<genShift
}

// Pack makes the header of a message.
func (e Envelope) Pack() packetizer.Header {
	return packetizer.Header{
		uint64(e.head()) << 32,
		uint64(e.Ctx) | uint64(uint32(e.Src))<<32,
		uint64(uint32(e.Tag)) | uint64(e.Ticket)<<32,
	}
}

// Number makes the header of a message that of another, which differs in its Ticket only; it stores nothing
// if that is what it is.
func Number(h *packetizer.Header, ticket uint32) {
	if uint32(h[2]>>32) != ticket {
		h[2] = h[2]&(1<<32-1) | uint64(ticket)<<32
	}
}

// Unpack reads the header of a message.
func Unpack(h packetizer.Header) Envelope {
	head := uint32(h[0] >> 32)
	return Envelope{
		Kind: Kind(head & (1<<kindBits - 1)), Flags: uint8(head>>kindBits) & 7, Gen: head >> genShift,
		Ctx: uint32(h[1]), Src: int32(h[1] >> 32),
		Tag: int32(uint32(h[2])), Ticket: uint32(h[2] >> 32),
	}
}

// Head is the part of a header that its kind, its flags and its communicator
// determine, to recognise messages without unpacking them: two halves, the id
// in the lower.
func Head(h *packetizer.Header) uint64 { return h[0]&^(1<<32-1) | h[1]&(1<<32-1) }

// Head is what Head finds in the headers of messages with this envelope.
func (e Envelope) Head() uint64 { return uint64(e.head())<<32 | uint64(e.Ctx) }

// body is the payload of a control message: up to five 64-bit words, what a
// message of the prototype holds.
type body [packetizer.PayloadLimit]byte

// words fills the body and returns the part in use.
func (b *body) words(w []uint64) []byte {
	for i, v := range w {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	return b[:8*len(w)]
}

// Word reads word i of a payload; a payload that is too short has zeros there.
func Word(payload []byte, i int) uint64 {
	if len(payload) < 8*i+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(payload[8*i:])
}

// Notice makes the notification data of a write (thesis 3.3): the size in two
// halves, since transfers may exceed 2 GiB, the tag, and whether an RTS was
// sent.
func Notice(size int, tag int32, rtsSent bool) rdmaeng.Notification {
	n := rdmaeng.Notification{int32(uint32(size)), tag, 0, int32(uint32(uint64(size) >> 32))}
	if rtsSent {
		n[2] = 1
	}
	return n
}

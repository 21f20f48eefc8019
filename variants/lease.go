package variants

import "github.com/exanet-mpi/exanet/packetizer"

// A fast path moves eager messages without the protocol: code outside of Go does,
// for which to enter Go costs more than a short message. The protocol leases it
// channels on which nothing is under way: a channel is a (communicator, peer, tag) in
// one direction. Whoever holds the lease sends the next message of the channel, or
// takes it out of the mailbox, and counts on. The messages are those that the protocol
// would have sent, so the other end knows no difference. As soon as the protocol
// has something under way on the channel itself it revokes the lease and goes on from the
// number that it finds.
//
// The protocol and the fast path are never at work at the same time. A fast path may
// have receives pending on leased channels of which the protocol does not know.
// Whoever calls the protocol posts them first, in their order.

// FastPath is what a protocol leases channels to.
type FastPath interface {
	// Account returns where the counts for a rank of the job are to be.
	Account(world int32) *Account
	// Grant hands a channel over. The fast path may revoke another lease by itself,
	// for which it has no room besides.
	Grant(l *Lease, c Channel)
	// Revoke takes a channel back: l.Next is the number of its next message again.
	Revoke(l *Lease)
	// Number says which number the next message of a channel has, in l.Next, and Renumber
	// that it has another, l.Next: the protocol has used some, and the lease goes on.
	Number(l *Lease)
	Renumber(l *Lease)
	// RevokeAll takes all channels of a direction back.
	RevokeAll(sends bool)
}

// Lessor is a protocol that leases channels: package ticket.
type Lessor interface {
	Protocol
	// LeaseTo says to whom. It is called once, before the first lease.
	LeaseTo(FastPath)
	// LeaseOut leases the channel to a rank, and LeaseIn that from one, unless something
	// is under way on it. name is what the fast path knows the communicator by.
	LeaseOut(ctx *Context, dst, tag int32, name uint64)
	LeaseIn(ctx *Context, src, tag int32, name uint64)
	// RevokeAll takes all channels back.
	RevokeAll()
}

// Lease is the protocol's side of a channel that may be leased. The fast path changes it when
// it is granted or revoked, and not in between.
type Lease struct {
	Next    uint32 // number of the next message; not kept up to date while Granted
	Granted bool
	Place   uint32 // where the fast path has the channel
}

// Channel is what a fast path must know of one.
type Channel struct {
	Sends    bool
	Name     uint64   // of the communicator
	Peer     int32    // rank in it
	World    int32    // the peer's rank in the job
	Envelope Envelope // of the next message
}

// Account is the credit of eager messages between this rank and a peer. The protocol and
// the fast path count in the same one.
//
//exanet:c account
type Account struct {
	Unmatched int64  // bytes of our eager messages that the peer has not said to have consumed
	Consumed  int64  // bytes of its eager messages consumed since we last said so
	Shut      uint32 // 1: nothing may be sent now: the peer has died, or messages wait
	World     int32  // the peer's rank in the job
}

// Taker is a protocol that lets calls look at a message, or take it, while it is still in the mailbox: package
// ticket. A receive with these arguments that would be posted now must get the message; else each reports
// that it does not, and does nothing. The message is the next of its sender's.
type Taker interface {
	// Peek describes the message, of n bytes, which stays where it is.
	Peek(ctx *Context, src, tag int32, h *packetizer.Header, n int) (Status, bool)
	// Take gives it to the receive, which has room for it.
	Take(ctx *Context, src, tag int32, buf []byte, h *packetizer.Header, payload []byte) (Status, bool)
	// TakeOut extracts it, see Protocol.Extract.
	TakeOut(ctx *Context, src, tag int32, h *packetizer.Header, payload []byte) *Message
	// TakesNext reports whether a receive that would be posted now gets the next message that it can
	// take; one with a wildcard, unless a receive that names source and tag does.
	TakesNext(ctx *Context, src, tag int32) bool
}

// Package packetizer sends short messages to the mailboxes of other processes
// (thesis 2.2). It is the lowest of the three device wrappers:
//
//	packetizer  puts a message on its way
//	mbox        takes it out at the other end
//	rdmaeng     moves what is too large for a message
//
// Port is what the layers above use. Its implementations are Device in this
// package, which drives the memory-mapped block of the prototype, and the
// shared-memory rings of emu/host.
package packetizer

// Sizes of the prototype's messages, in bytes (thesis 2.2 and 3.1.2).
const (
	MessageSize  = 64
	HeaderSize   = 24
	PayloadLimit = MessageSize - HeaderSize
)

// Header is the envelope of a message: the first 24 bytes of its 64.
//
// The low 32 bits of word 0 belong to the device, which keeps there what it
// needs to recognise a complete message (emu/host: phase and payload length).
// Senders leave them zero and receivers ignore them. Everything else belongs
// to the sender; package variants gives it its meaning.
type Header [3]uint64

// Port sends messages. One Port belongs to one rank and is not safe for
// concurrent use: its rank serialises the calls.
//
// Messages from one Port to one destination arrive in the order of the calls
// (thesis 2.2). Nothing is promised between different destinations, nor
// against RDMA writes and their notifications, but see rdmaeng.Order.
type Port interface {
	// Limit is the largest payload in bytes: 40 on the prototype.
	Limit() int

	// TrySend sends h and payload to the mailbox of rank to and reports
	// whether the device took them. It takes them whole or not at all, copies
	// both before it returns, and never waits: false means that the mailbox
	// or the way to it is full. A message to a rank that has died is taken
	// and lost. It is _MBOX_ENQUEUE_64B of the thesis (2.4).
	TrySend(to int, h Header, payload []byte) bool
}

package mmio

// The register map of docs/registers.md. Offsets are in bytes from the start
// of a page unless said otherwise; every register is 64 bits wide.

// PageSize is the unit in which interfaces are handed out.
const PageSize = 4096

// Header, the same in every block.
const (
	RegID     = 0x00 // kind, flags, version: see ID
	RegNode   = 0x08
	RegPDID   = 0x10
	RegIndex  = 0x18 // number of this interface within its block
	RegCount  = 0x20 // interfaces in the block
	RegStride = 0x28 // bytes from one interface to the next
	RegUnits  = 0x30 // windows, slots or descriptors of this interface
	RegOffset = 0x38 // DMA offset; RDMA channel only
	RegOwner  = 0x40 // process that holds the interface, 0 if none
)

// Pinned memory of an RDMA channel (FlagWindow), behind its header. The places are in
// bytes from the start of the channel's page.
const (
	RegWindow     = 0x48 // where the owner maps it
	RegWindowSize = 0x50 // whole pages
	RegDRAM       = 0x58 // of a software device that is not coherent: what stands for memory

	MinWindow = 64 << 10
)

// Kinds of blocks, the upper half of the ID register.
const (
	KindPacketizer uint32 = 0x4558504b // "EXPK"
	KindMailbox    uint32 = 0x45584d42 // "EXMB"
	KindChannel    uint32 = 0x45584443 // "EXDC"
	KindDirectory  uint32 = 0x45584452 // "EXDR"
)

// Version of the register map.
const Version uint16 = 1

// Flags of the ID register: what a process has to do because nobody else does it.
const (
	FlagClaim    uint16 = 1 << 0 // claim pages by itself: there is no driver
	FlagPresent  uint16 = 1 << 1 // keep its memory present: the device takes no page faults
	FlagWindow   uint16 = 1 << 2 // copy into and out of pinned memory: the device knows no virtual addresses
	FlagMaintain uint16 = 1 << 3 // clean the caches: the device is not coherent with them
	FlagAgent    uint16 = 1 << 4 // know that the node has an agent that starts writes for others
)

// ID composes the ID register.
func ID(kind uint32, flags uint16) uint64 {
	return uint64(kind)<<32 | uint64(flags)<<16 | uint64(Version)
}

// Packetizer: the counter of the page, then its windows. Data, addressing and
// the hardware's answer lie in cache lines of their own.
const (
	RegSend    = 0x80
	WindowBase = 0x100
	WindowSize = 0xc0
	Windows    = 16

	WinData   = 0x00 // within a window
	WinSeq    = 0x40
	WinDest   = 0x48
	WinDone   = 0x80
	WinResult = 0x88
)

// Mailbox.
const (
	RegTail     = 0x80 // messages delivered, written by the hardware
	RegRefused  = 0x88 // messages refused since their protection ID is another; of a channel: writes
	RegHead     = 0xc0 // messages consumed, written by the process
	SlotBase    = 0x1000
	MessageSize = 64
)

// AgentIndex is the mailbox of a node's agent. A message to it is a descriptor.
const (
	AgentIndex = 0xffff

	AgentData  = 0x08 // within the message: 16 bytes
	AgentSrc   = 0x18
	AgentDst   = 0x20
	AgentNotif = 0x28
	AgentBytes = 0x30
)

// RDMA channel.
const (
	DescBase    = 0x100
	DescSize    = 0x80
	Descriptors = 16

	DescSrc    = 0x00 // within a descriptor
	DescDst    = 0x08
	DescBytes  = 0x10
	DescNotif  = 0x18
	DescData   = 0x20 // 16 bytes
	DescSubmit = 0x30
	DescDone   = 0x40
	DescError  = 0x48
)

// Context of an RDMA channel, behind its descriptors: where a device without a driver learns
// what the owner's virtual addresses mean.
const (
	CtxOwner = 0x900 // process whose context it is, 0 while it is being written; written last
	CtxCount = 0x908 // how often one was written
	CtxPairs = 0x910 // a virtual address and the physical one that it has, Pairs times
	Pairs    = 4
)

// Directory of a software device: where its blocks are, and one entry a rank.
const (
	DirPacketizer = 0x48
	DirMailbox    = 0x50
	DirChannel    = 0x58
	DirBase       = 0x100
	DirSize       = 0x40

	EntryState   = 0x00 // within an entry
	EntryMailbox = 0x08
	EntryOffset  = 0x10

	EntryEmpty   = 0
	EntryFilling = 1
	EntryReady   = 2
)

// Codes of the RESULT and ERROR registers.
const (
	OK       = 0
	BadPDID  = 1 // the protection IDs of the two ends differ
	BadRoute = 2 // no such node or interface
	Gone     = 3 // nobody holds the interface: the message or write is lost
	Fault    = 4 // an address is not mapped there
	BadAlign = 5 // the notification address is not a multiple of 16
)

// MailboxAddress composes the address that a packetizer takes: node in bits
// 63-48, protection ID in bits 47-16, interface in bits 15-0.
func MailboxAddress(node uint16, pdid uint32, index uint16) uint64 {
	return uint64(node)<<48 | uint64(pdid)<<16 | uint64(index)
}

// SplitMailboxAddress undoes MailboxAddress.
func SplitMailboxAddress(a uint64) (node uint16, pdid uint32, index uint16) {
	return uint16(a >> 48), uint32(a >> 16), uint16(a)
}

// ChannelShift separates the two parts of an Exanet address: a virtual
// address of the owner below, the channel that leads to the owner above.
const ChannelShift = 48

// ChannelOffset is the DMA offset of a channel: node in bits 63-56, interface
// in bits 55-48.
func ChannelOffset(node, index uint8) uint64 {
	return (uint64(node)<<8 | uint64(index)) << ChannelShift
}

// SplitExanet undoes the addition of a channel's offset to a local address.
func SplitExanet(a uint64) (node, index uint8, local uint64) {
	return uint8(a >> 56), uint8(a >> ChannelShift), a & (1<<ChannelShift - 1)
}

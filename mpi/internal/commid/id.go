// Package commid has the numbers by which messages tell communicators apart, and how
// the ranks of a new communicator agree on one.
//
//	id.go      what a number is made of
//	supply.go  the numbers that a rank gives out, and when it may use one again
//	tree.go    how some ranks agree, although one of them may die meanwhile
//
// Nothing that all ranks share is needed: the rank that leads a communicator, its
// rank 0, owns the number. A number has a slot that is free at its leader, and a
// generation of that slot. The leader uses a slot again as soon as it has freed the
// communicator, while others may still hold messages of it; these carry the
// generation, and are dropped where it is closed. A leader returns from making a
// communicator only when all members have opened it. Therefore each rank opens the
// generations of a slot in rising order, and remembers no more than the highest one that
// it has closed.
//
// How the members learn the number depends on the call:
//
//	Dup, Cart, Graph, DistGraph  rank 0 tells it down the tree
//	Split                        colours, keys and a proposal of each rank go up the tree, and
//	                             the whole list comes down; in each part the proposal of its
//	                             first rank counts
//	Create, CreateGroup          a tree of the members alone
//	InterCreate, its Dup         the two leaders exchange proposals and tell their sides
//	Merge                        the leaders; the proposal of the first group counts
//	what another MPI makes       rank 0 of the parent tells numbers before they are needed
//
// Then, but for what another MPI makes, every member opens the contexts and says so up the
// same tree. Whoever has missed the number because a rank died is therefore missed only by
// ranks that see the death, or hear
// of it from those who do. Some members may get the communicator then and others an error,
// and its slot is not used again.
//
// Where ranks share memory they also count, for each slot, who has not closed the communicator that had it. The
// slot is used again only when all have. So those that another MPI makes need nobody's word that they are open: a rank
// may open one when it first uses it, or never.
//
// Other MPIs agree on a number that is free everywhere. That takes an Allreduce for each new
// communicator, and goroutines that collide must repeat it. With an owner and a generation
// they cannot collide.
package commid

// ID tells a communicator from all others.
//
//	bits 16-31 of Number  the leader's rank in the job
//	bits  1-15            a slot of the leader
//	bit      0            0: its context for point to point; 1: that for collectives
type ID struct {
	Number uint32 // of the context for point to point
	Gen    uint32
}

const (
	slots       = 1 << 15
	generations = 1 << 23 // protocols compare them as serial numbers of 24 bits
	selfSlot    = 1       // of every rank; slot 0 of rank 0 is the world's
)

// World is the communicator of all ranks.
var World = ID{}

// Self is the communicator of a rank alone.
func Self(rank int) ID { return of(rank, selfSlot, 0) }

func of(leader, slot int, gen uint32) ID {
	return ID{Number: uint32(leader)<<16 | uint32(slot)<<1, Gen: gen}
}

// Leader is the rank in the job that has given the number out.
func (d ID) Leader() int { return int(d.Number >> 16) }

// Slot is that of the leader which the number occupies.
func (d ID) Slot() int { return int(d.Number >> 1 & (slots - 1)) }

// Predefined reports whether it is the world's or that of a rank alone.
func (d ID) Predefined() bool { return d == World || d == Self(d.Leader()) }

// Word is the ID as it travels in a message.
func (d ID) Word() int64 { return int64(uint64(d.Number) | uint64(d.Gen)<<32) }

// FromWord is the inverse of Word.
func FromWord(w int64) ID { return ID{Number: uint32(w), Gen: uint32(w >> 32)} }

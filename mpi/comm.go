package mpi

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/topo"
	"github.com/exanet-mpi/exanet/variants"
)

// Special ranks and tags.
const (
	// ProcNull as a destination or source makes a call do nothing (MPI_PROC_NULL).
	ProcNull = topo.None
	// AnySource receives from any rank; Status says from which. While such a receive waits,
	// long messages of the communicator take one control message more, since
	// receivers do not advertise their buffers (thesis 3.1).
	AnySource = int(variants.AnySource)
	// AnyTag receives any tag; Status says which. It costs as AnySource does, for
	// messages from the source (thesis 3.6.3).
	AnyTag = int(variants.AnyTag)
	// MaxTag is the largest tag (MPI_TAG_UB).
	MaxTag = 1<<31 - 1
)

// What makes communicators is in files of their own:
//
//	context.go  the numbers by which messages tell communicators apart
//	agree.go    how the members of a communicator to be agree
//	meeting.go  how two groups do
//	dup.go, idup.go  Dup and Free
//	tuned.go    a Dup with other algorithms of collectives
//	split.go    Split, Create
//	reserve.go  those that another MPI makes, of which ours is made when it is used
//	inter.go    intercommunicators
//	cart.go, graph.go  topologies
//	attr.go, errhandler.go  what else a communicator carries

// Comm is a communicator: a set of ranks, numbered from 0, that exchange messages which no
// other communicator sees. Init returns the one of all ranks. Split, Dup, Create and Cart
// make others; a library makes itself a Dup, so that its messages are not taken for
// the program's. A nil Comm is that of a rank that was left out.
type Comm struct {
	rank *rank
	p2p  *variants.Context // of point-to-point messages
	coll *variants.Context // of those within collectives
	size int               // of the group that messages go to

	id       commid.ID
	members  *group.Group // the caller's group
	local    *Comm        // of an intercommunicator: one of the caller's group alone
	topology any          // *topo.Cart, *topo.Graph, *topo.Local, or nil
	freed    atomic.Bool
	spoiled  bool // some members may not have opened it

	turns    turns
	barriers *collective // the schedule of Barrier, unless one is under way
	handle   uint64      // by which the fast path knows it, 0 if not at all

	algorithms *coll.Selection // of collectives
	hosts      *coll.Hosts     // of the ranks, for those; nil: it does not matter

	area    *shm.Area // of blocking collectives, see shared.go; nil: they are messages
	late    bool      // the first of them finds an area
	counted bool      // its number is, see reserve.go
	areaID  commid.ID // of an area that was found so

	reserves reserves // of communicators that another MPI makes of c

	mu      sync.Mutex // of what follows
	name    string
	handler *Errhandler
	attrs   []attr // in the order in which they were set
}

// Rank is the caller's rank in the communicator (MPI_Comm_rank). It is Undefined
// in a nil one, as Split returns to ranks that are left out.
func (c *Comm) Rank() int {
	if c == nil || c.rank == nil {
		return Undefined
	}
	return int(c.p2p.Rank)
}

// Size is the number of ranks (MPI_Comm_size), of an intercommunicator those of
// the caller's group. A nil communicator has none.
func (c *Comm) Size() int {
	if c == nil {
		return 0
	}
	if c.local != nil {
		return c.local.size
	}
	return c.size
}

// SetName gives the communicator a name, for people (MPI_Comm_set_name).
func (c *Comm) SetName(name string) error {
	if err := c.usable("SetName"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
	return nil
}

// Name returns the communicator's name (MPI_Comm_get_name). The world's is
// "MPI_COMM_WORLD", that of Self "MPI_COMM_SELF", and others have none until
// they are given one.
func (c *Comm) Name() string {
	if c == nil {
		return "MPI_COMM_NULL"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

func newWorld(k *rank) *Comm {
	n, me := k.fab.Size(), k.fab.Rank()
	return k.predefine("MPI_COMM_WORLD", commid.World, group.Identity(n), me)
}

func (k *rank) predefine(name string, d commid.ID, members *group.Group, me int) *Comm {
	c := &Comm{rank: k, id: d, members: members, size: members.Size(), name: name, algorithms: k.algorithms,
		hosts: k.hostsOf(members)}
	c.p2p, c.coll = k.open(d, members, me)
	c.area = k.openArea(d, members, me)
	return c
}

// Self returns the communicator of the calling process alone (MPI_COMM_SELF). It
// is the same for all communicators of the process, and nil if c can not be
// used.
func (c *Comm) Self() *Comm {
	if c.usable("Self") != nil {
		return nil
	}
	k := c.rank
	k.selfOnce.Do(func() {
		me := k.fab.Rank()
		k.self = k.predefine("MPI_COMM_SELF", commid.Self(me), group.Of([]int32{int32(me)}), 0)
	})
	return k.self
}

// leaveSelf deletes the attributes of Self, if the program has used it.
func (k *rank) leaveSelf() error {
	k.selfOnce.Do(func() {})
	if k.self == nil {
		return nil
	}
	return k.self.deleteAttrs("Finalize")
}

// Counters returns what the caller's rank has counted so far in all
// communicators: control messages sent, by kind, and the events of the protocol.
// It returns nil if c is nil.
func (c *Comm) Counters() map[string]uint64 {
	if c == nil || c.rank == nil {
		return nil
	}
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	return counterMap(c.rank.proto.Counters())
}

// Element is the constraint of buffers: any type of fixed size without pointers, that is, numbers,
// booleans, and arrays and structs of these. Go cannot express that, so calls refuse other types, such
// as strings, slices and maps, with ErrType. For those see SendValue.
type Element any

// plainTypes says which composite types are plain.
var plainTypes sync.Map // reflect.Type -> bool

func plain[T Element]() bool {
	// What most programs send costs no reflection.
	switch any((*T)(nil)).(type) {
	case *byte, *int, *int32, *int64, *float32, *float64:
		return true
	}
	return plainType(reflect.TypeFor[T]())
}

func plainType(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128:
		return true
	case k != reflect.Array && k != reflect.Struct:
		return false
	}
	if v, ok := plainTypes.Load(t); ok {
		return v.(bool)
	}
	v := mem.Plain(t)
	plainTypes.Store(t, v)
	return v
}

// valid checks what every call has in common. It returns the buffer's bytes.
func valid[T Element](c *Comm, op string, buf []T, peer, tag int, recv bool) ([]byte, error) {
	if err := c.usable(op); err != nil {
		return nil, err
	}
	b := mem.Bytes(buf)
	if !plain[T]() {
		return nil, c.fail(op, peer, tag, len(b), notPlain[T](), "")
	}
	if uint(peer) < uint(c.size) && uint(tag) <= MaxTag {
		return b, nil
	}
	if err := c.checkPeer(op, peer, tag, len(b), recv); err != nil {
		return nil, err
	}
	return b, nil
}

func (c *Comm) checkPeer(op string, peer, tag, size int, recv bool) error {
	if uint(peer) >= uint(c.size) && peer != ProcNull && !(recv && peer == AnySource) {
		return c.fail(op, peer, tag, size, ErrRank, "ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	if (tag < 0 || tag > MaxTag) && !(recv && tag == AnyTag) {
		return c.fail(op, peer, tag, size, ErrTag, "tags are 0 to "+itoa(MaxTag))
	}
	if recv && peer == AnySource && c.rank.Doubts() {
		return c.fail(op, peer, tag, size, ErrAssumption, "")
	}
	return nil
}

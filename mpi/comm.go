package mpi

import (
	"reflect"
	"sync"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Special ranks and tags.
const (
	// ProcNull as a destination or source makes a call do nothing.
	ProcNull = -1
	// AnySource receives from any rank. It suspends receiver initiation in
	// the communicator while the receive is posted (thesis 3.1).
	AnySource = int(variants.AnySource)
	// AnyTag receives any tag. It suspends receiver initiation from the source
	// while the receive is posted (thesis 3.6.3).
	AnyTag = int(variants.AnyTag)
	// MaxTag is the largest tag (MPI_TAG_UB).
	MaxTag = 1<<31 - 1
)

// Comm is a communicator: a set of ranks that exchange messages which no other
// communicator sees.
type Comm struct {
	rank *rank
	p2p  *variants.Context // of point-to-point messages
	coll *variants.Context // of those within collectives
	size int
}

// Rank is the caller's rank in the communicator (MPI_Comm_rank).
func (c *Comm) Rank() int { return int(c.p2p.Rank) }

// Size is the number of ranks (MPI_Comm_size).
func (c *Comm) Size() int { return c.size }

func newWorld(k *rank) *Comm {
	me := int32(k.fab.Rank())
	c := &Comm{
		rank: k, size: k.fab.Size(),
		p2p:  &variants.Context{ID: 0, Rank: me},
		coll: &variants.Context{ID: 1, Rank: me, Tags: collNames},
	}
	k.mu.Lock() // the background runs already: another rank may have died
	defer k.mu.Unlock()
	k.proto.Open(c.p2p)
	k.proto.Open(c.coll)
	return c
}

// Counters returns what the caller's rank has counted so far in all
// communicators: control messages sent, by kind, and the events of the protocol.
func (c *Comm) Counters() map[string]uint64 {
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	return counterMap(c.rank.proto.Counters())
}

// Element is the constraint of buffers: any type of fixed size that contains
// no pointers. Types that do are refused with ErrType when they are used.
type Element any

// plainTypes remembers the verdict on composite types.
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
		return nil, c.fail(op, peer, tag, len(b), ErrType, "send numbers, arrays, or structs of them: not "+reflect.TypeFor[T]().String())
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
	return nil
}

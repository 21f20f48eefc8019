// Package variants holds what the MPI protocols of the thesis have in common:
// requests, control messages, and the way messages leave a rank. The protocols
// themselves are in the packages below it.
//
// A protocol is a state machine. Its inputs are calls: a request is posted or
// cancelled, a message or a notification has arrived, a peer has died. Its
// outputs are messages and RDMA writes, given to a Device that takes them
// without waiting, and requests that become Done. It has no threads, clocks or
// locks; whoever owns it serialises the calls and decides how to wait. The same
// inputs always lead to the same outputs, in the same order (InOrder).
package variants

import (
	"errors"
	"iter"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Wildcards of receives and probes. Arithmetic with ranks does not make AnySource by mistake.
const (
	AnySource int32 = -1<<30 - 1
	AnyTag    int32 = -1
)

// Errors of requests.
var (
	ErrTruncate = errors.New("message longer than the receive buffer")
	ErrPeerDied = errors.New("process failed")
)

// Mode is the mode of a send (thesis 3.10). Ready sends are standard ones, and
// so are buffered ones once their data has been copied.
type Mode uint8

// Modes of sends.
const (
	Standard Mode = iota
	Synchronous
)

// Context is a communicator as the protocols see it. Open and Close say from
// when to when. An id is used again with the next generation; generations
// compare as serial numbers of 24 bits, so a rank must not miss 2^23 of them.
type Context struct {
	ID    uint32
	Gen   uint32       // below 2^24
	Rank  int32        // this process's rank in it
	Group *group.Group // of those whom it exchanges messages with; nil: the job's ranks as they are
	Tags  []string     // what its tags stand for, if they are not the program's
	Extra int          // bytes in front of each message that are not the program's

	Active int // requests that are not Done and messages extracted, counted by the protocol
}

// World returns the rank in the job of a rank of the communicator.
func (c *Context) World(rank int32) int32 {
	if c.Group == nil {
		return rank
	}
	return c.Group.World(rank)
}

// Has reports whether a rank of the job is in the communicator.
func (c *Context) Has(world int32) bool {
	return c.Group == nil || c.Group.Has(world)
}

// Status is what a completed receive tells about its message.
type Status struct {
	Source    int32
	Tag       int32
	Size      int // bytes sent, also when they did not fit
	Cancelled bool
}

// Request is a send or a receive. Whoever posts it fills in the first part and
// leaves it alone until Done. The protocol owns the second part; requests can be
// reused after Reset.
type Request struct {
	Recv bool
	Mode Mode
	Ctx  *Context
	Peer int32 // rank in Ctx, or AnySource
	Tag  int32 // or AnyTag
	Buf  []byte
	View datatype.View // instead of Buf if the memory has gaps; a send of such is no eager one

	Batch *Batch // that it belongs to, or nil
	Home  uint64 // of a receive: names its buffer, which receives before had that have the same; 0: one like no other

	Done   bool
	Err    error
	Status Status

	// State of the protocol.
	Ticket     uint32         // thesis 3.5; in protocols without tickets, the request's number at its rank
	Ticketed   bool           // a receive that has its ticket
	Queued     bool           // in a queue of posted requests
	Advertised bool           // a receive whose RTR is out
	Silent     bool           // a receive whose RTR has been spared, see package auto
	Delivered  bool           // a send whose data went with its EnvDS
	Announced  bool           // a receive that an RTS or Env has matched although its RTR is out
	Fetched    bool           // a receive that an agent writes to
	Borrows    bool           // a receive that takes part in the copy of what its sender has lent
	Landed     bool           // a receive whose notification has been seen before its RTS or Env
	Writing    bool           // a send whose write has started
	Cancelling bool           // waits for the peer's word
	Copy       bool           // a send of the library's own, see Core.StandIn
	Slot       int            // of the exposed buffer; -1: none
	Window     rdmaeng.Window // of an Advertised receive
	NoRoom     error          // likewise: why it is not exposed, although it is long
	counted    bool           // in Core.open
	lent       bool           // see Core.Announce
	Order      uint64         // of posting, to compare across queues
	Transfer   rdmaeng.Transfer

	alone   *Peer // whose later messages wait for the write of this send
	inQueue Link[Request]
}

// Reset makes a request ready to be filled in and posted. The Transfer is set
// when a write starts.
func (r *Request) Reset() {
	r.Recv, r.Mode, r.Batch, r.Home = false, Standard, nil, 0
	r.Done, r.Err, r.Status = false, nil, Status{}
	r.Ticketed, r.Queued, r.Advertised, r.Silent, r.Delivered = false, false, false, false, false
	r.Announced, r.Fetched, r.Borrows, r.Landed, r.Writing, r.Cancelling = false, false, false, false, false, false
	r.Slot, r.NoRoom = -1, nil
	if r.View.Type != nil {
		r.View = datatype.View{}
	}
}

// Len is the size of the message that is sent, or that fits, in bytes.
func (r *Request) Len() int {
	if r.View.Type != nil {
		return r.View.Size()
	}
	return len(r.Buf)
}

// Next is the request behind r in its queue.
func (r *Request) Next() *Request { return r.inQueue.Next() }

// Queue is a FIFO of posted requests from which any can be removed.
type Queue struct{ list List[Request] }

// Head is the oldest request, nil if there is none.
func (q *Queue) Head() *Request { return q.list.First() }

// Push adds r at the end.
func (q *Queue) Push(r *Request) {
	q.list.Push(&r.inQueue, r)
	r.Queued = true
}

// Remove takes r, which is in q, out.
func (q *Queue) Remove(r *Request) {
	q.list.Remove(&r.inQueue)
	r.Queued = false
}

// All yields the requests, oldest first. The one that it has yielded may be
// removed.
func (q *Queue) All() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for r := q.Head(); r != nil; {
			next := r.Next()
			if !yield(r) {
				return
			}
			r = next
		}
	}
}

// Find returns the request with a number, nil if it is not there, and counts those
// that it looks at.
func (q *Queue) Find(w *workcount.Count, ticket uint32) *Request {
	for r := q.Head(); r != nil; r = r.Next() {
		w.Searched++
		if r.Ticket == ticket {
			return r
		}
	}
	return nil
}

// Counters counts what a protocol has done.
type Counters struct {
	Control        [Kinds]uint64 // messages sent
	Writes         uint64        // RDMA writes started
	Receives       uint64        // completed
	FastReceives   uint64        // sends that found an RTR when posted (thesis ch. 4)
	Crossings      uint64        // RTS that met a receive whose RTR was out (thesis 3.1)
	StaleRTRs      uint64        // RTRs discarded because an eager send took their receive (thesis 3.5)
	Silent         uint64        // receives that could have been advertised and were not, see package auto
	Lifted         uint64        // receives that got their ticket when a suspension was lifted
	Truncations    uint64
	CancelsGranted uint64
	CancelsRefused uint64
	NoCredit       uint64 // eager-size sends that went as long ones, beyond the peer's credit
	Copies         uint64 // sends that left a copy, see Core.StandIn
	Elided         uint64 // writes without a notification, see Core.Elide
	Standing       uint64 // writes into buffers that stand (package standing)
}

// Add adds what another rank has counted.
func (c *Counters) Add(x *Counters) {
	for k := range c.Control {
		c.Control[k] += x.Control[k]
	}
	c.Writes += x.Writes
	c.Receives += x.Receives
	c.FastReceives += x.FastReceives
	c.Crossings += x.Crossings
	c.StaleRTRs += x.StaleRTRs
	c.Silent += x.Silent
	c.Lifted += x.Lifted
	c.Truncations += x.Truncations
	c.CancelsGranted += x.CancelsGranted
	c.CancelsRefused += x.CancelsRefused
	c.NoCredit += x.NoCredit
	c.Copies += x.Copies
	c.Elided += x.Elided
	c.Standing += x.Standing
}

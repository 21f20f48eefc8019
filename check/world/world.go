// Package world is a small universe in which protocols can be watched: two to
// four ranks, each a variants.Protocol over a device in which nothing happens
// by itself.
//
// A control message that a rank sends lies in the queue of its pair of ranks
// until somebody delivers it. An RDMA write that a rank starts lies there until
// somebody lets its data land, in one piece or two; then the receiver may be
// shown its notification and the sender may learn that it is done, in either
// order. Every such step is an Action; whoever owns the World chooses which
// comes next. There are no threads and no clocks, so the same actions always
// give the same world.
//
//	program -> Step ----> protocol -> TrySend -> queue of the pair -> Deliver -> protocol
//	                               -> Start   -> Land -> Notice (receiver)
//	                                                  -> Finish (sender)
//
// Package check/explore chooses in every possible way, package
// check/scenario as a text file says.
//
// # What is promised
//
// The order of actions is as free as the interfaces of packages packetizer and
// rdmaeng allow: messages of one pair are delivered in order, and that is all
// that is said of messages. A write's notification is seen after its data has
// landed, and its sender learns that it is done after that as well. Nothing is
// promised between writes, nor between writes and messages. With Config.Order
// less is promised (order.go).
//
// # What is checked
//
// After every action: memory is written only inside the buffer of a posted
// receive that has not completed; requests complete once, with the right
// status and contents; a synchronous send completes only after a receive that
// it can match has been posted; a send completes only after its data has left
// its buffer. When nothing is left to happen, Finish compares what matched
// with MPI's rule (see model.go) and demands that whatever is incomplete has
// no counterpart, and Close makes the ranks exchange a few more messages, which
// shows whether both ends still agree about numbers and stored
// advertisements.
package world

import (
	"fmt"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Device is what a world gives to each protocol: also the agents of the
// read-based one.
type Device interface {
	packetizer.Port
	rdmaeng.Reader
}

// Make makes the protocol of a rank, as the New functions of the packages below
// variants do.
type Make func(me int, dev Device) variants.Protocol

// Config says what a world is made of.
type Config struct {
	Ranks    int // 2 to 4
	Make     Make
	Limit    int // eager limit in bytes; 0: the prototype's 40
	Capacity int // messages that the queue of a pair holds; 0: no limit
	Pieces   int // in which the data of a write lands: 1 or 2
	// Order is what the device promises, and no more than that: then a write may be done
	// before its data lands. 0: all, and it is done after that.
	Order rdmaeng.Order

	// The protocol has no probes, or does not take receives from any source,
	// as the optimistic one of thesis 3.14.
	NoProbe, NoAnySource bool
	// Short sends match short receives only, and long ones long ones.
	SizesMatch bool
	// Broken says that the programs break this. Each send and receive that
	// would match must then end, with the error that Doubt.go of the protocol
	// promises, see assumptions.go.
	Broken bool
	// Doubts lets a rank that waits ask its peers at any moment.
	Doubts bool
	// Leased gives each rank a fast path, see fastpath.go, and a device that lends sources,
	// see share.go. The protocol is a variants.Lessor and a variants.Taker.
	Leased bool
	// Unleased says that no channels are leased before they have been used.
	Unleased bool
	// Same says that receive buffers end as the first message of their size does that the other of two ranks sends, as
	// where a program sends the same again.
	Same bool
	// Hybrid says that a standard send of up to so many bytes may complete when its data have been copied.
	Hybrid int
	// Standing says that the device promises what buffers need that stand (rdmaeng.Standing), and that the protocol has
	// such.
	Standing bool
	// Room is how many buffers a rank can expose at a time; 0: any number. A receive that finds none may end with
	// rdmaeng.ErrRoom.
	Room int
	// Window is the credit of each pair in bytes; 0: variants.CreditWindow.
	Window int64
	// Mortal is the number of ranks, the last ones, of which one dies.
	Mortal int
}

// World is one state of the universe. It is not safe for concurrent use.
type World struct {
	cfg     Config
	ranks   []*rank
	queues  []queue // by from*Ranks+to
	landed  uint64  // part of the fingerprint: which writes have landed, and how
	failure *Violation
	digests []uint64 // by rank; 0: to be computed

	// Memory, if set, is asked before things are computed. Worlds of one Config can share it.
	Memory *Memory
	lesson *lesson // of Learn

	// Log, if set, is told everything that happens.
	Log func(Event)

	nextID int // of messages and writes, for the log
}

// A rank is a process: its protocol, its program and its requests.
type rank struct {
	w       *World
	id      int
	ctx     [comms]*variants.Context
	proto   variants.Protocol
	dev     *device
	fast    *fastPath // nil: there is none
	program []Op
	pc      int
	choices []Op     // of which one may follow the program
	chosen  int      // 1 more than the index of that which did; 0: none yet
	blocked *Request // the operation that its program waits for
	reqs    []*Request
	sends   int
	probes  []finding
	history uint64 // fingerprint of all that the rank has been given, in order
	moment  int    // how many inputs that is
	given   uint64 // like history, with the contents of what it has been given
	touched uint64 // fingerprint of what has been done to its memory and its writes besides
	tried   int    // moment of a blocking probe that found nothing
	doubted int    // moment of the last doubt
	planned uint64 // see plan; 0: to be computed
	taking  int    // whose message it is dealing with, 1 for rank 0; 0: nobody's
	dead    bool
	told    bool // that somebody has died
	writes  []*write
}

type queue struct {
	msgs      []message
	delivered int
	refused   bool // a message since there was room
}

type message struct {
	header  packetizer.Header
	payload [packetizer.PayloadLimit]byte
	n       int
	id      int
	sum     uint64   // hash
	behind  []*write // that land before it is delivered
}

// write is an RDMA write that a rank has started.
type write struct {
	t        *rdmaeng.Transfer
	from, to int
	id       int
	index    int // among the writes of the rank that has it in its list
	pieces   int // landed so far
	behind   int // messages of the pair that had been sent when it was started
	all      bool
	noticed  bool
	finished bool
	taken    []byte   // the device's copy of the data, if it was done before they have landed
	req      *Request // whose send it is
	agent    bool     // an agent of from, or to itself, does it on behalf of to, which has it in its list
	loan     *loan    // of its source, nil if that is not lent
	offered  rdmaeng.Window
}

// A Violation is something that must not happen.
type Violation struct {
	Rank int // where it was seen
	What string
}

func (v *Violation) Error() string { return fmt.Sprintf("rank %d: %s", v.Rank, v.What) }

// comms is the number of communicators; contextID the id of the first.
const (
	comms     = 2
	contextID = 7
)

// New makes a world whose ranks execute a program, one list of operations for
// each. Lists may be missing.
func New(cfg Config, program Program) *World {
	if cfg.Limit == 0 {
		cfg.Limit = packetizer.PayloadLimit
	}
	if cfg.Pieces == 0 {
		cfg.Pieces = 1
	}
	w := &World{cfg: cfg, queues: make([]queue, cfg.Ranks*cfg.Ranks), digests: make([]uint64, cfg.Ranks)}
	for i := range cfg.Ranks {
		r := &rank{w: w, id: i, tried: -1}
		r.dev = &device{w: w, rank: r}
		var dev Device = r.dev
		if cfg.Leased {
			dev = lender{r.dev}
		}
		r.proto = cfg.Make(i, dev)
		for j := range r.ctx {
			r.ctx[j] = &variants.Context{ID: contextID + uint32(j), Rank: int32(i)}
			r.proto.Open(r.ctx[j])
		}
		if i < len(program) {
			r.program = program[i]
		}
		w.ranks = append(w.ranks, r)
	}
	for _, r := range w.ranks {
		if cfg.Window > 0 {
			r.proto.(interface{ LimitCredit(bytes int64) }).LimitCredit(cfg.Window)
		}
		if cfg.Leased {
			r.fast = newFastPath(r)
			r.proto.(variants.Lessor).LeaseTo(r.fast)
			r.leave()
		}
	}
	return w
}

// Choose lets a rank execute, after its program, one of several operations: each
// is a Step of its own, with N one more than the index of the operation.
func (w *World) Choose(rank int, choices []Op) { w.ranks[rank].choices = choices }

// Chosen returns the N of the choice that a rank has made, 0 if it has made
// none.
func (w *World) Chosen(rank int) int { return w.ranks[rank].chosen }

// Config returns what the world is made of.
func (w *World) Config() Config { return w.cfg }

// Violation returns the first thing that went wrong, nil if nothing has.
func (w *World) Violation() *Violation { return w.failure }

// Protocol returns the protocol of a rank, to be looked at.
func (w *World) Protocol(rank int) variants.Protocol { return w.ranks[rank].proto }

// Requests returns the requests of a rank in the order in which they were
// posted.
func (w *World) Requests(rank int) []*Request { return w.ranks[rank].reqs }

func (w *World) fail(rank int, format string, args ...any) {
	if w.failure == nil {
		w.failure = &Violation{rank, fmt.Sprintf(format, args...)}
	}
}

func (w *World) queue(from, to int) *queue { return &w.queues[from*w.cfg.Ranks+to] }

// room reports whether the queue of a pair takes a message.
func (w *World) room(from, to int) bool {
	return w.cfg.Capacity == 0 || len(w.queue(from, to).msgs) < w.cfg.Capacity
}

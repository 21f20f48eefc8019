package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/packetizer"
)

// Endpoint is a rank's end of the fabric: its packetizer, its mailbox and its RDMA
// engine, and the clock of its processor. Only the rank's own routines call it.
type Endpoint struct {
	s    *Sim
	rank int
	node int32

	main, back routine
	current    *routine
	clock      Time // of the current routine

	// The processor.
	done     *workcount.Count // what the layers above count
	charged  workcount.Count  // of it, what has been added to the clock
	again    uint64           // takings of the lock that are no calls: after a wait
	noise    float64
	rand     *rand.Rand
	computed Time
	busy     Time // until when a routine has run
	shared   bool // there is no core for the background routine
	stolen   Time // from the program by it
	finished Time
	work     Work

	// What has arrived, in order of time.
	first, last int32 // messages
	out         int32 // that Next has returned
	held        int32 // messages here or on their way here
	asked       int32 // the same of the R5
	starved     []int32
	notes       []note
	ends        []Time // of writes that have ended, which Test has not told yet

	// Waiting.
	bell, backBell uint32
	waiting        bool // the main routine, for something to arrive
	since          Time
	deadline       Time
	alarm          Time
	vain           Time // that has passed in the last Yield
	willing        bool // to wait if nothing is found, see catchUp
	timerAt        Time
	armed          bool
	idle           bool // the background routine waits for its bell
	backMark       uint32
	lookAtTime     Time // of the progress event that is announced
	due            bool // one has been met by a routine that was holding
	joining        bool

	gone       bool // has left
	failed     bool // in disorder
	deathsSeen uint32

	slots   []slot
	free    []int32
	scratch []byte
}

// Work is what a rank's processor was charged with.
type Work struct {
	Calls       uint64 // of MPI
	Allocations uint64 // of request objects, if there is no memory pool
	workcount.Count
}

// Add adds the work of another rank.
func (w *Work) Add(x Work) {
	w.Calls += x.Calls
	w.Allocations += x.Allocations
	w.Count.Add(x.Count)
}

func (e *Endpoint) init(s *Sim, rank int, node int32, shared bool, cfg Config) {
	e.s, e.rank, e.node, e.shared = s, rank, node, shared
	e.main.e, e.back.e = e, e
	e.main.at, e.back.at = never, never
	e.first, e.last, e.out = none, none, none
	e.deadline, e.alarm, e.timerAt, e.lookAtTime = never, never, never, never
	e.idle = true
	if e.noise = cfg.Machine.Costs.Noise; e.noise > 0 {
		e.rand = rand.New(rand.NewPCG(cfg.Seed, uint64(rank)))
	}
}

// Rank is this endpoint's place among the ranks.
func (e *Endpoint) Rank() int { return e.rank }

// Size is the number of ranks.
func (e *Endpoint) Size() int { return len(e.s.ends) }

// Meter tells where the layers above count the work of the rank.
func (e *Endpoint) Meter(d *workcount.Count) { e.done = d }

// Work is what the rank was charged with so far.
func (e *Endpoint) Work() Work { return e.work }

// Computed is the time that the rank has spent in Compute.
func (e *Endpoint) Computed() time.Duration { return e.computed.Duration() }

// Finished is when the rank has returned.
func (e *Endpoint) Finished() time.Duration { return e.finished.Duration() }

// spend adds to the rank's clock what its processor does.
func (e *Endpoint) spend(t Time) {
	if e.rand != nil {
		t = Time(float64(t) * (1 + e.noise*(2*e.rand.Float64()-1)))
	}
	e.clock += t
	if e.shared && e.current == &e.back {
		e.stolen += t
	}
}

// charge spends what the layers above have done since it was called last.
func (e *Endpoint) charge() {
	if e.done == nil || *e.done == e.charged {
		return
	}
	d, was, m := *e.done, e.charged, &e.s.model
	e.charged = d
	locks := d.Locks - was.Locks
	again := min(e.again, locks)
	e.again -= again
	if locks > again {
		e.willing = false // another call
	}
	objects := d.Objects - was.Objects
	t := Time(locks)*m.lock + Time(locks-again)*m.call + Time(objects)*(m.object+m.allocate) +
		Time(d.Searched-was.Searched)*m.search + Time(d.Tickets-was.Tickets)*m.ticket
	if n := d.Copied - was.Copied; n > 0 {
		t += Time(m.copyByte * float64(n))
	}
	e.work.Count, e.work.Calls = d, e.work.Calls+locks-again
	if m.allocate > 0 {
		e.work.Allocations += objects
	}
	e.spend(t)
}

// catchUp lets everything happen that can have reached this rank by its clock. A rank
// that will wait unless it finds something need not know: if something has arrived
// that is not known yet, the wait ends before it has begun.
func (e *Endpoint) catchUp() {
	s := e.s
	if e.willing {
		return
	}
	if at := e.clock - s.lookahead; s.agenda.next() < at {
		r := e.current
		r.holding = true
		r.goOn(at)
		r.park()
	}
}

// Limit implements packetizer.Port.
func (e *Endpoint) Limit() int { return packetizer.PayloadLimit }

// TrySend implements packetizer.Port.
func (e *Endpoint) TrySend(to int, h packetizer.Header, payload []byte) bool {
	if len(payload) > packetizer.PayloadLimit {
		panic(fmt.Sprintf("sim: payload of %d bytes exceeds %d", len(payload), packetizer.PayloadLimit))
	}
	e.charge()
	s := e.s
	e.spend(s.model.enqueue + Time(s.model.copyByte*float64(len(payload))))
	x := &s.ends[to]
	if x.held >= s.model.depth && !x.gone {
		e.starve(x)
		return false
	}
	x.held++
	i := s.newMessage()
	m := &s.messages[i]
	m.header, m.n, m.from, m.to, m.fetch = h, uint8(copy(m.body[:], payload)), int32(e.rank), int32(to), none
	s.totals.Sent++
	s.note(Event{At: e.clock, Kind: Sent, From: m.from, To: m.to, Header: h, Bytes: len(payload), ID: uint32(i)})
	s.agenda.push(e.clock, depart, i, 0)
	return true
}

// starve notes that this rank waits for room in a mailbox.
func (e *Endpoint) starve(x *Endpoint) {
	e.s.totals.Refused++
	if !slices.Contains(x.starved, int32(e.rank)) {
		x.starved = append(x.starved, int32(e.rank))
	}
}

// refill tells those that wait for room in the mailbox, or in that of the R5.
func (e *Endpoint) refill() {
	for _, r := range e.starved {
		e.s.agenda.push(max(e.clock, e.s.now)+e.s.lookahead, refill, r, 0)
	}
	e.starved = e.starved[:0]
}

// arrive puts a message into the mailbox.
func (e *Endpoint) arrive(i int32) {
	s := e.s
	m := &s.messages[i]
	switch {
	case e.first == none:
		m.next, e.first, e.last = none, i, i
	case s.messages[e.last].arrives <= m.arrives:
		m.next, s.messages[e.last].next, e.last = none, i, i
	case m.arrives < s.messages[e.first].arrives:
		m.next, e.first = e.first, i
	default:
		at := e.first
		for s.messages[s.messages[at].next].arrives <= m.arrives {
			at = s.messages[at].next
		}
		m.next, s.messages[at].next = s.messages[at].next, i
	}
}

// Next implements mbox.Box.
func (e *Endpoint) Next() (h packetizer.Header, payload []byte, ok bool) {
	e.charge()
	e.catchUp()
	s := e.s
	i := e.first
	if i == none || s.messages[i].arrives > e.clock {
		return h, nil, false
	}
	m := &s.messages[i]
	if e.first = m.next; e.first == none {
		e.last = none
	}
	e.out = i
	e.spend(s.model.dequeue + Time(s.model.copyByte*float64(m.n)))
	s.totals.Delivered++
	s.note(Event{At: e.clock, Kind: Taken, From: m.from, To: m.to, Header: m.header, Bytes: int(m.n), ID: uint32(i)})
	return m.header, m.body[:m.n], true
}

// Release implements mbox.Box.
func (e *Endpoint) Release() {
	e.s.release(e.out)
	e.out = none
	e.held--
	if len(e.starved) > 0 {
		e.refill()
	}
}

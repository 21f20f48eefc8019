// Package sim is the prototype in virtual time: packetizers, mailboxes, RDMA engines, the R5
// beside each sender and the torus between them, as a discrete-event simulation, with
// the constants of Costs. It knows nothing above the three blocks; package virtual
// puts the ranks of package mpi on it.
//
//	torus.go, place.go   which links a message takes, and where ranks are
//	costs.go             what everything takes
//	server.go            who waits for what: links and blocks serve one at a time
//	heap.go              what happens next
//	sim.go, routine.go   the simulation, and the routines that run in it
//	message.go, write.go what is on its way
//	port.go, engine.go   a rank's end of the fabric: the three blocks
//	wait.go, end.go      how the rank waits and computes, and how it ends
//
// A rank is an ordinary Go function in a coroutine. It runs without virtual time
// passing, except that what its processor does is added to the rank's own clock. What
// it sends are events at the time of that clock. When it looks for messages, the
// simulation first catches up with it; when it waits or computes, others run. One
// routine runs at a time, and nothing depends on the time of day or on maps, so a run
// is repeated exactly by the same program, placement, constants and seed.
package sim

import (
	"iter"
	"time"
)

// Sim is a simulation.
type Sim struct {
	machine Machine
	model   model
	place   Placement

	now       Time
	lookahead Time // nothing that is sent has an effect elsewhere before so much time has passed
	agenda    agenda
	events    uint64
	limit     Time

	ends    []Endpoint
	deaths  uint32
	handoff *routine // who runs after the routine that has just parked
	aborted bool
	live    int // main routines that have not returned

	links                                []server // by number, see Torus
	packetizers, mailboxes, engines, r5s []server // by FPGA
	route                                []int32

	messages []message
	freeMsg  int32
	writes   []write
	freeWr   int32
	totals   Totals

	tracing bool
	trace   []Event

	reserved func(link int32, from, to Time) // for tests
}

// Totals counts what has gone through the fabric.
type Totals struct {
	Sent, Delivered uint64 // messages of the packetizers; delivered are those taken out of mailboxes, and by R5s
	Lost            uint64 // to ranks that have died or left
	Left            uint64 // in mailboxes at the end, for receives that nobody has waited for
	Refused         uint64 // since the mailbox was full
	Writes, Notices uint64 // RDMA writes begun, and notifications seen
	Bytes, Written  uint64 // of writes begun, and of those deposited
	Stale           uint64 // writes to a buffer that was not exposed any more
}

// Config is what a simulation is made of.
type Config struct {
	Machine   Machine
	Placement Placement
	Seed      uint64 // of Costs.Noise
	Pooled    bool   // request objects come from a memory pool (thesis 3.9)
	Trace     bool
	Limit     time.Duration // virtual time at which to give up; 0: an hour
}

// New makes a simulation of the ranks of a placement.
func New(cfg Config) *Sim {
	s := &Sim{machine: cfg.Machine, model: cfg.Machine.Costs.model(), place: cfg.Placement, tracing: cfg.Trace,
		limit: fromDuration(cfg.Limit), freeMsg: none, freeWr: none}
	if s.limit == 0 {
		s.limit = fromDuration(time.Hour)
	}
	if cfg.Pooled {
		s.model.allocate = 0
	}
	t := cfg.Machine.Torus
	n := t.Nodes()
	s.links = make([]server, t.links())
	s.packetizers, s.mailboxes = make([]server, n), make([]server, n)
	s.engines, s.r5s = make([]server, n), make([]server, n)
	ranks := make([]uint8, n)
	for _, node := range cfg.Placement {
		ranks[node]++
	}
	alone := true
	s.ends = make([]Endpoint, len(cfg.Placement))
	for i := range s.ends {
		node := cfg.Placement[i]
		alone = alone && ranks[node] == 1
		s.ends[i].init(s, i, node, 2*int(ranks[node]) > Cores, cfg)
	}
	s.lookahead = s.model.packetizer + s.model.mailbox
	if alone {
		s.lookahead += min(s.model.inside.hop, s.model.outside.hop)
	}
	s.lookahead = min(s.lookahead, s.model.writeStart+s.model.writeLatency+s.model.notify)
	return s
}

// Endpoint is the end of a rank.
func (s *Sim) Endpoint(rank int) *Endpoint { return &s.ends[rank] }

// Totals returns what has gone through the fabric so far.
func (s *Sim) Totals() Totals {
	t := s.totals
	for i := range s.ends {
		for m := s.ends[i].first; m != none; m = s.messages[m].next {
			t.Left++
		}
	}
	return t
}

// Events is the number of events so far.
func (s *Sim) Events() uint64 { return s.events }

// Ended reports whether a rank has returned by itself.
func (s *Sim) Ended(rank int) bool { return s.ends[rank].main.over }

// Now is the time of the last event.
func (s *Sim) Now() Time { return s.now }

// LinkLoad is what has gone through a link.
type LinkLoad struct {
	From, To int32 // FPGAs
	Rate     float64
	Load
}

// Links returns the links that have been used.
func (s *Sim) Links() (used []LinkLoad) {
	for i := range s.links {
		if l := s.links[i].load; l.Busy > 0 || l.Messages > 0 {
			from, to, inside := s.machine.Torus.ends(int32(i))
			rate := s.machine.Costs.RateOutside
			if inside {
				rate = s.machine.Costs.RateInside
			}
			used = append(used, LinkLoad{from, to, rate, l})
		}
	}
	return used
}

// Run runs main for each rank until all have returned, or none can go on. It reports
// whether all have returned; those that have not are ended: what they wait for panics.
func (s *Sim) Run(main func(rank int)) (over bool) {
	s.live = len(s.ends)
	for i := range s.ends {
		r := &s.ends[i].main
		r.body = func() { main(i) }
		r.goOn(0)
	}
	s.schedule(s.dispatch())
	if s.live == 0 {
		return true
	}
	s.aborted = true
	for i := range s.ends {
		e := &s.ends[i]
		for _, r := range []*routine{&e.back, &e.main} {
			if r.stop != nil && !r.over {
				r.stop()
			}
		}
	}
	return false
}

// schedule runs a routine, and then those that follow, until there is nothing to do.
func (s *Sim) schedule(r *routine) {
	for r != nil {
		if r.next == nil {
			r.next, r.stop = iter.Pull(r.start)
		}
		s.handoff = nil
		if _, parked := r.next(); !parked {
			r.end()
			r = s.dispatch()
			continue
		}
		r = s.handoff
	}
}

// dispatch carries out events until a routine has to run, and returns it: nil if
// nothing is left to happen.
func (s *Sim) dispatch() *routine {
	for len(s.agenda.heap) > 0 {
		e := s.agenda.pop()
		s.now = e.at
		s.events++
		if s.now > s.limit {
			return nil
		}
		switch e.kind() {
		case resume:
			if r := s.routineOf(e.of); e.turn == r.turn && r.enter(e.at) {
				return r
			}
		case progress:
			if x := &s.ends[e.of]; x.progress(e.at) {
				return &x.back
			}
		case ring:
			if x := &s.ends[e.of]; x.rung() {
				return &x.back
			}
		case refill:
			s.ends[e.of].refilled()
		case timer:
			s.ends[e.of].timeOut(e.at)
		case depart:
			s.depart(e.of)
		case begin:
			s.begin(e.of)
		case chunk:
			s.chunk(e.of)
		}
	}
	return nil
}

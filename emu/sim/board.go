package sim

import "github.com/exanet-mpi/exanet/internal/mem"

// What package mpi asks of fabrics whose ranks share memory: these do not.

// Areas is how many areas of shared memory a rank has.
func (e *Endpoint) Areas() int { return 0 }

// Area is one of them.
func (e *Endpoint) Area(int, int) []byte { return nil }

// Fenced is of no importance without areas.
func (e *Endpoint) Fenced() bool { return false }

// Crowded reports whether ranks share cores.
func (e *Endpoint) Crowded() bool { return false }

// Core is 0: ranks do not share cores.
func (e *Endpoint) Core() uint32 { return 0 }

// PerCore is how many ranks a core has.
func (e *Endpoint) PerCore() int { return 1 }

// Yielding reports whether ranks that wait yield to others.
func (e *Endpoint) Yielding() bool { return false }

// Watch has waits look at words of an area.
func (e *Endpoint) Watch(mem.Words) {}

// Unwatch ends Watch.
func (e *Endpoint) Unwatch() {}

// Look looks at some.
func (e *Endpoint) Look(*mem.Words) bool { return false }

// Settle is a fence before the last look at an area.
func (e *Endpoint) Settle() {}

// Rouse wakes who waits for a word of an area.
func (e *Endpoint) Rouse(int) {}

// Berths are for ranks that are processes.
func (e *Endpoint) Berths() (first uint64, step uint32) { return 0, 0 }

// Reaches reports whether Read reads the memory of a rank, which nothing on the prototype
// does.
func (e *Endpoint) Reaches(int) bool { return false }

// Read does not.
func (e *Endpoint) Read(int, uint64, []byte) bool { return false }

// Dear reports whether Read takes long, for which it would have to read.
func (e *Endpoint) Dear() bool { return false }

// Deaths counts the ranks that have left in disorder.
func (e *Endpoint) Deaths() uint32 { return e.s.deaths }

// Dead reports whether a rank has.
func (e *Endpoint) Dead(rank int) bool { x := &e.s.ends[rank]; return x.gone && x.failed }

// SawDeaths says how many of them the rank has taken notice of.
func (e *Endpoint) SawDeaths(n uint32) { e.deathsSeen = n }

// Finalize is the end of a rank in good order.
func (e *Endpoint) Finalize() {
	e.charge()
	e.gone = true
}

// Fail is its end in disorder: all others are told.
func (e *Endpoint) Fail() {
	if e.failed || e.s.aborted {
		return
	}
	e.charge()
	e.gone, e.failed = true, true
	e.s.deaths++
	for i := range e.s.ends {
		if x := &e.s.ends[i]; x != e {
			e.s.agenda.push(e.clock+e.s.lookahead, refill, int32(i), 0)
		}
	}
}

// Close gives nothing up: the simulation owns everything.
func (e *Endpoint) Close() {}

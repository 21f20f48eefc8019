package sim

// How ranks end, and what the others see of it.

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

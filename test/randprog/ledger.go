package randprog

import "slices"

// ledger decides which operations a program may contain so that it ends
// whatever matches what. It sees the operations of a phase in their order and
// counts.
//
// A receive with pattern P that is the jth of its thread is certain to complete
// once more messages that match P are sent for good (not Cancelable) than there
// are earlier receives of the thread which could take such a message: each
// takes one at most, so one is left, and a pending receive and a message that
// matches it do not stay apart.
//
// A send is certain to be matched once more receives for good are posted for
// exactly its source and tag than there are earlier sends of that source and
// tag. Only such messages fit these receives, and none of them overtakes an
// earlier one; so if the send were still unmatched, all of these receives
// would have been taken by its predecessors, which are too few.
//
// A cancelled message may be gone when the receive that follows a probe of it
// begins. Where a message may be cancelled there are no such receives.
//
// A ready send asks for the same of receives that are posted before it starts:
// those of the first part, or, sent to itself, those earlier in the thread.
//
// What a program's Rules ask for is in rules.go.
type ledger struct {
	p         *Program
	phase     int
	sends     []*Op
	recvs     []*Op
	byID      map[int]*Op
	cancelled map[int]bool
}

func newLedger(p *Program) *ledger { return &ledger{p: p, phase: -1} }

// admit reports whether the program may go on with the operations of unit, and
// if so notes them. References to requests that do not exist are dropped.
func (l *ledger) admit(unit []Op) bool {
	if unit[0].Phase != l.phase {
		l.phase = unit[0].Phase
		l.sends, l.recvs = nil, nil
		l.byID, l.cancelled = map[int]*Op{}, map[int]bool{}
	}
	ns, nr := len(l.sends), len(l.recvs)
	for i := range unit {
		o := &unit[i]
		if o.sends() {
			l.sends = append(l.sends, o)
		}
		if o.receives() {
			l.recvs = append(l.recvs, o)
		}
	}
	for i := range unit {
		if o := &unit[i]; !l.legal(o) || !l.paired(o) {
			l.sends, l.recvs = l.sends[:ns], l.recvs[:nr]
			return false
		}
	}
	for i := range unit {
		o := &unit[i]
		l.byID[o.ID] = o
		if o.Kind == Cancel {
			l.cancelled[o.Reqs[0]] = true
		}
	}
	return true
}

func (l *ledger) legal(o *Op) bool {
	switch o.Kind {
	case Send:
		return o.Mode == Buffered || l.sendEnds(o)
	case Isend:
		return (o.Mode != Ready || l.sendEnds(o)) && !(o.Cancelable && slices.ContainsFunc(l.recvs, func(r *Op) bool {
			return r.probes() && r.Thread == o.Dest && l.matches(r, o)
		}))
	case Iprobe:
		return o.Peek || l.lasting(o)
	case Probe:
		return l.recvEnds(o) && l.lasting(o)
	case Recv:
		return l.recvEnds(o)
	case Sendrecv:
		return l.sendEnds(o) && l.recvEnds(o)
	case Cancel:
		l.known(o)
		return len(o.Reqs) == 1 && l.byID[o.Reqs[0]].Cancelable && !l.cancelled[o.Reqs[0]]
	case Test:
		l.known(o)
		return len(o.Reqs) == 1
	case Wait, WaitAll:
		l.known(o)
		for _, r := range o.Reqs {
			if !l.ends(r) {
				return false
			}
		}
		return len(o.Reqs) > 0
	case WaitAny:
		l.known(o)
		for _, r := range o.Reqs {
			if r == o.Sure {
				return l.ends(r)
			}
		}
		return false
	}
	return true
}

// lasting reports whether no message that the probe o may find is cancelled.
func (l *ledger) lasting(o *Op) bool {
	return !slices.ContainsFunc(l.sends, func(s *Op) bool {
		return s.Cancelable && s.Dest == o.Thread && l.matches(o, s)
	})
}

// known drops the references of o to requests that its thread does not have.
func (l *ledger) known(o *Op) {
	var reqs []int
	for _, r := range o.Reqs {
		if q := l.byID[r]; q != nil && q.Thread == o.Thread && (q.Kind == Isend || q.Kind == Irecv) {
			reqs = append(reqs, r)
		}
	}
	o.Reqs = reqs
}

// ends reports whether the request of operation id is certain to complete. One
// that is cancelled does, either way.
func (l *ledger) ends(id int) bool {
	o := l.byID[id]
	switch {
	case l.cancelled[id]:
		return true
	case o.Kind == Isend:
		return o.Mode == Buffered || l.sendEnds(o)
	default:
		return l.recvEnds(o)
	}
}

func (l *ledger) recvEnds(o *Op) bool {
	n := 0
	for _, s := range l.sends {
		if s.Dest == o.Thread && !s.Cancelable && l.matches(o, s) {
			n++
		}
	}
	for _, r := range l.recvs {
		if r == o {
			break
		}
		if r.Thread == o.Thread && meet(r, o) {
			n--
		}
	}
	return n > 0
}

func (l *ledger) sendEnds(o *Op) bool {
	from := l.p.Threads[o.Thread].Rank
	n := 0
	for _, r := range l.recvs {
		if r.Thread != o.Dest || r.From != from || r.RTag != o.Tag || r.Cancelable || r.Kind == Iprobe {
			continue
		}
		if o.Mode != Ready || r.Part == prepost || r.Thread == o.Thread && r.ID < o.ID {
			n++
		}
	}
	for _, s := range l.sends {
		if s == o {
			break
		}
		if s.Thread == o.Thread && s.Dest == o.Dest && s.Tag == o.Tag {
			n--
		}
	}
	return n > 0
}

// matches reports whether the pattern of receive r fits the message of send s.
func (l *ledger) matches(r, s *Op) bool {
	return (r.From == AnySource || r.From == l.p.Threads[s.Thread].Rank) && (r.RTag == AnyTag || r.RTag == s.Tag)
}

// meet reports whether some message fits both a and b.
func meet(a, b *Op) bool {
	return (a.From == AnySource || b.From == AnySource || a.From == b.From) &&
		(a.RTag == AnyTag || b.RTag == AnyTag || a.RTag == b.RTag)
}

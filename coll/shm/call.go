package shm

import (
	"errors"

	"github.com/exanet-mpi/exanet/coll"
)

// Form is how a call is made.
type Form uint8

const (
	// Copied data go through slots and segments.
	Copied Form = iota
	// Lent data are read where they are, by those who want them, in the memory of another process. Who lends
	// returns when all have read them.
	Lent
	// Messages are sent. The area is told of the call nevertheless.
	Messages
)

// ErrGone is the error of a call in which what this rank waits for will not come: the area has failed, or
// a rank has died.
var ErrGone = errors.New("another rank does not take part")

// Call is one rank's part in a call. It can be used for the next one.
type Call struct {
	*coll.Call
	Form    Form
	Combine func(in, inout []byte) // inout = in op inout, where in is of lower ranks
	Own     bool                   // Combine is the program's, which gets to see no memory of others
	Await   func(w *Words) bool    // waits, and reports whether the words have come

	// Where memory cannot be read the data are messages: from the ranks that this one could not read from,
	// and to those that could not read from this one.
	Missed, Owed []int

	a       *Area
	n       uint64 // the number of the call
	what    uint64
	rounds  int    // that are published
	waits   Words  // for
	missed  uint64 // a bit for each rank
	err     error  // the first
	scratch []byte
}

// mostLending is the number of ranks up to which data are lent: there is a bit for each.
const mostLending = 64

// noResult in the second round says that there is no result.
const noResult = ^uint64(0)

// Vector reports whether the blocks of a collective have sizes that not all ranks know. Such a rank lends
// blocks that do not fit in its segment.
func Vector(op coll.Collective) bool { return op == coll.Gatherv || op == coll.Scatterv || toEach(op) }

func toEach(op coll.Collective) bool { return op == coll.Alltoallv || op == coll.Alltoallw }

// FormOf is how a call is made for which the table has shared memory, or direct reads.
func (a *Area) FormOf(c *coll.Call, direct bool) Form {
	lends := a.Read != nil && a.Ranks <= mostLending
	if !direct {
		n := c.Bytes()
		switch c.Op {
		case coll.Scatter, coll.Alltoall:
			n *= c.Ranks
		case coll.Allgatherv:
			n = 0
			for i := range c.Ranks {
				n = max(n, c.RecvBlocks.Size(i))
			}
		case coll.Gatherv, coll.Scatterv, coll.Alltoallv, coll.Alltoallw:
			if n = entrySize * a.Ranks; !lends {
				return Messages
			}
		}
		if n <= a.segment {
			return Copied
		}
	}
	switch c.Op {
	case coll.Alltoall:
		lends = lends && !c.InPlace // it would be overwritten meanwhile
	case coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Allgatherv:
	default:
		lends = false
	}
	if lends {
		return Lent
	}
	return Messages
}

// Announce publishes that this rank makes a call by messages, which ends with End.
func (o *Call) Announce(a *Area) error {
	o.Form = Messages
	if o.begin(a) {
		o.post(0, 0)
	}
	return o.err
}

// Messages are the words of a rank that waits for a message of the call: they come if the area fails.
func (o *Call) Messages() Words {
	w := o.a.one(o.n, 0, o.a.Me)
	w.First, w.Least, w.kind = (*uint64)(&o.a.head.failed), 1, forCall
	return w
}

// Perform makes a call.
func (o *Call) Perform(a *Area) error {
	defer o.End() // also if an operator of the program panics
	if !o.begin(a) {
		return o.err
	}
	switch o.Op {
	case coll.Barrier:
		o.post(0, 0)
		o.seeAll()
	case coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.ReduceScatterBlock, coll.Scan, coll.Exscan:
		o.reduce()
	default:
		o.move()
	}
	return o.err
}

// begin waits until the slot of the call is free.
func (o *Call) begin(a *Area) bool {
	l := a.own
	o.a, o.n, o.what, o.rounds, o.missed, o.err = a, l.call, what(o.Call, o.Form), 0, 0, nil
	o.Missed, o.Owed = o.Missed[:0], o.Owed[:0]
	if l.posted != 0 { // by code in C, with the same words
		o.rounds = 1
		return true
	}
	if a.Failed() {
		o.err = a.Failure()
		return false
	}
	if o.n >= depth && l.known+depth <= o.n {
		if !o.await(a.all(o.n-depth+1, 0)) {
			return false
		}
		l.known = o.n - depth + 1
	}
	return true
}

// End ends a call, with what others may wait for still.
func (o *Call) End() {
	if o.rounds == 1 && o.hasSecond() {
		o.publishSecond(noResult)
	}
	l := o.a.own
	l.past = digest(l.past, o.what)
	l.posted = 0
	l.call = o.n + 1
}

// hasSecond reports whether others may wait for this rank's second round.
func (o *Call) hasSecond() bool {
	return o.Form == Lent || o.Form == Copied && (Vector(o.Op) || o.splits())
}

// post publishes the first round: the data are in this rank's place, or at an address, or there are none.
func (o *Call) post(length int, addr uint64) {
	if o.rounds > 0 {
		return
	}
	s := o.a.slot(o.n, o.a.Me)
	s.what.Publish(o.what)
	s.past.Publish(o.a.own.past)
	s.length.Publish(uint64(length))
	s.addr.Publish(addr)
	o.a.publish(s, round(o.n, 0))
	o.rounds = 1
}

// publishSecond publishes the second round.
func (o *Call) publishSecond(tells uint64) {
	s := o.a.slot(o.n, o.a.Me)
	s.second.Publish(tells)
	o.a.publish(s, round(o.n, 1))
	o.rounds = 2
}

func (o *Call) await(w Words) bool {
	if w.There() {
		return true
	}
	o.waits = w
	if o.a.look(&o.waits) || o.Await(&o.waits) {
		return true
	}
	o.note(ErrGone)
	return false
}

// Awaits is what the call waits for, while it does.
func (o *Call) Awaits() *Words { return &o.waits }

func (o *Call) note(err error) {
	if o.err == nil {
		o.err = err
	}
}

// see waits for a rank's first round, and seeAll for those of all others. They report whether all is as
// it should be.
func (o *Call) see(rank int) bool {
	return o.await(o.a.one(o.n, 0, rank)) && o.check(rank)
}

func (o *Call) seeAll() bool {
	a := o.a
	if !o.await(a.all(o.n, 0)) {
		return false
	}
	a.own.known = o.n
	for i := range a.Ranks {
		if i != a.Me {
			o.check(i)
		}
	}
	return o.err == nil
}

// check reports whether a rank makes the same call as this one.
func (o *Call) check(rank int) bool {
	a := o.a
	s, own := a.slot(o.n, rank), a.slot(o.n, a.Me)
	its := s.what.Load()
	switch {
	case !match(s, own):
		a.fail(o.n, a.Me, rank)
		o.note(a.Failure())
	case its != o.what && !Vector(o.Op):
		o.note(&Mismatch{Parts: [2]Part{part(a.Me, o.what), part(rank, its)}})
	default:
		return true
	}
	return false
}

// differs notes that a rank has passed another size for a block than this one.
func (o *Call) differs(rank int, its, mine uint64) {
	p := [2]Part{part(o.a.Me, o.what), part(rank, o.what)}
	p[0].Size, p[1].Size = int(mine), int(its)
	o.note(&Mismatch{Parts: p})
}

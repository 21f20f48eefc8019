package mpi

import (
	"strings"

	"github.com/exanet-mpi/exanet/coll"
)

// Tags of collectives. Messages of one call must not meet those of another, and
// for that it is enough that all ranks count alike:
//
//   - blocking calls of a collective follow each other, so each collective has a
//     tag of its own, which also names it for those who look on;
//   - non-blocking calls, which all ranks make in the same order, take turns at
//     a few tags. A call whose tag is still in use at this rank stands in line
//     for it. The oldest call of all stands behind nobody at any rank, so there
//     is always one that goes on. Few tags mean few counters in the protocols
//     (thesis 3.5), however many calls are in flight;
//   - persistent ones, which are made in the same order but may be started in
//     any, have a tag each.
const (
	firstTurn       = int32(coll.Collectives)
	turnTags        = 16
	firstPersistent = firstTurn + turnTags
)

var collNames = func() []string {
	names := make([]string, firstPersistent)
	for i := range names {
		names[i] = "non-blocking collective"
		if c := coll.Collective(i); c < coll.Collectives {
			names[i] = title(c)
		}
	}
	return names
}()

// title is the name of a collective as this package spells it.
func title(c coll.Collective) string {
	var b strings.Builder
	for word := range strings.SplitSeq(c.String(), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// turns hands out the tags of a communicator. The rank's lock guards it.
type turns struct {
	calls      uint32 // non-blocking ones so far
	persistent int32  // persistent ones so far
	lines      [turnTags]line
	blocking   line // of blocking calls that are begun as requests: one at a time
	underWay   int  // non-blocking and persistent calls that have not ended
}

// line is the calls that use a tag, or stand in line for it.
type line struct{ head, tail *collective }

// tag returns the tag of the next non-blocking call and the line for it.
func (t *turns) tag() (int32, *line) {
	i := t.calls % turnTags
	t.calls++
	return firstTurn + int32(i), &t.lines[i]
}

// join puts a call at the end of the line. It is its turn when it is the first.
func (l *line) join(s *collective) {
	if l.head == nil {
		l.head = s
	} else {
		l.tail.next = s
	}
	l.tail = s
}

// leave ends the turn of the first and lets the next one begin.
func (l *line) leave(k *rank) {
	s := l.head
	l.head, s.next = s.next, nil
	if l.head == nil {
		l.tail = nil
		return
	}
	k.Ready.Push(&l.head.batch)
}

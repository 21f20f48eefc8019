package mpi

import (
	"fmt"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// collective is a collective call under way at this rank: it performs a
// schedule (package coll) with messages in the communicator's context for
// collectives. A blocking call performs its own; the others are schedules of the
// progress engine (schedule.go), which performs them whenever the messages that
// they wait for have ended, also while the program computes.
//
// A rank that can not go on as it should, since a message had the wrong size or
// another rank has died, performs the rest of its schedule all the same, so that
// nobody waits for it in vain. What it sends from then on are failed messages:
// see failed.go. So an error reaches every rank whose result depends on it.
type collective struct {
	coll.Schedule
	reducer
	c     *Comm
	name  string // of the call
	tag   int32
	at    int       // the step to perform next
	part  int       // bytes of it that are done
	wait  []*pooled // messages of the steps performed that have not been looked at
	batch variants.Batch
	err   error // the first

	shm  shm.Call  // of a call that the area is told of
	stop shm.Words // what ends a call by messages before them

	pieces []piece     // data with gaps
	lists  [2][][]byte // blocks to receive, to send

	kind     *datatype.Type // of the elements, for the checking mode
	count    int            // of them in a block, or ofSlice
	operator string

	turn atomic.Uint32 // calls that have been made of descriptions in it, see DataCall

	line *line // of a non-blocking call
	next *collective
}

// Local steps longer than this give others a chance in between: a blocking call
// releases the rank's lock, the progress engine performs a part at a time.
const longStep = 64 << 10

// mostIdle bounds the collectives that a rank keeps for reuse, and fewIdle those
// among them with all the scratch memory that their largest call needed: others have
// no more than littleScratch bytes.
const (
	mostIdle      = 64
	fewIdle       = 4
	littleScratch = 16 << 10
)

// takeCollective and putCollective need no rank's lock, which a call through shared memory can do without.
func (k *rank) takeCollective() *collective {
	k.idling.Lock()
	defer k.idling.Unlock()
	s := k.idle
	if s == nil {
		return new(collective)
	}
	k.idle, s.next = s.next, nil
	k.idles--
	return s
}

func (k *rank) putCollective(s *collective) {
	s.Release()
	s.reducer, s.c, s.line, s.err, s.batch.Owner = reducer{}, nil, nil, nil, nil
	clear(s.pieces)
	clear(s.lists[0])
	clear(s.lists[1])
	s.pieces = s.pieces[:0]
	k.idling.Lock()
	defer k.idling.Unlock()
	if k.idles < fewIdle || k.idles < mostIdle && s.Scratch() <= littleScratch {
		s.next = k.idle
		k.idle = s
		k.idles++
	}
}

// prepare makes the schedule of a call whose description is complete.
func (s *collective) prepare(tag int32) {
	s.tag = tag
	s.Build(s.c.algorithms.Pick(&s.Call))
	s.rewind()
}

func (s *collective) rewind() { s.at, s.part, s.err = 0, 0, nil }

// perform carries the schedule on as far as it goes without waiting and reports
// whether it has ended. It is called with the rank's lock held; alone says that
// the caller performs its own call, so that the lock may be released meanwhile.
func (s *collective) perform(alone bool) (over bool) {
	for s.at < len(s.Steps) {
		st := &s.Steps[s.at]
		switch st.Kind {
		case coll.Send:
			s.send(st.Peer, st.From, alone)
		case coll.Recv:
			m := s.message(st.Peer, st.To)
			m.Recv = true
			s.c.rank.proto.PostRecv(&m.Request)
		case coll.Wait:
			if !s.settled(alone) {
				return false
			}
		default:
			if !s.work(st, alone) {
				return false
			}
		}
		s.at++
	}
	return s.settled(alone)
}

// message makes a request of the protocol for a step.
func (s *collective) message(peer int32, b []byte) *pooled {
	m := s.c.rank.take()
	m.Ctx, m.Peer, m.Tag, m.Buf, m.Batch = s.c.coll, peer, s.tag, b, &s.batch
	s.batch.Open++
	s.wait = append(s.wait, m)
	return m
}

func (s *collective) send(peer int32, b []byte, alone bool) {
	k := s.c.rank
	if s.err != nil {
		b = failedMessage(b, k.fab.Limit(), s.err)
	}
	if k.proto.TrySend(s.c.coll, peer, s.tag, b) || alone && k.squeeze(s.c.coll, peer, s.tag, b) {
		return
	}
	k.proto.PostSend(&s.message(peer, b).Request)
}

// settled reports whether all messages so far have ended, and looks at them
// then.
func (s *collective) settled(alone bool) bool {
	k := s.c.rank
	if s.batch.Open > 0 {
		if !alone {
			s.batch.Await(&k.Ready)
		}
		return false
	}
	for _, m := range s.wait {
		if s.err == nil {
			s.err = s.check(&m.Request)
		}
		k.put(m)
	}
	clear(s.wait)
	s.wait = s.wait[:0]
	return true
}

// work performs a step that needs no message, and reports whether it is done.
func (s *collective) work(st *coll.Step, alone bool) bool {
	if s.err != nil {
		return true // there is nothing to be computed
	}
	n := len(st.To)
	own := st.Kind == coll.Combine && s.own
	k := s.c.rank
	if n <= longStep && !own {
		k.mu.Work.Copied += uint64(n)
		s.compute(st, 0, n)
		return true
	}
	if alone { // an operator of the program may panic, which must not leave the lock behind
		k.mu.Work.Copied += uint64(n)
		k.mu.Unlock()
		s.compute(st, 0, n)
		k.mu.Lock()
		return true
	}
	piece := longStep
	if st.Kind == coll.Combine {
		piece = max(longStep/s.Elem, 1) * s.Elem
	}
	end := min(s.part+piece, n)
	k.mu.Work.Copied += uint64(end - s.part)
	if own {
		s.risk(st, s.part, end)
	} else {
		s.compute(st, s.part, end)
	}
	if s.part = end; end < n {
		k.Ready.Push(&s.batch)
		return false
	}
	s.part = 0
	return true
}

func (s *collective) compute(st *coll.Step, from, to int) {
	if st.Kind == coll.Copy {
		mem.Copy(st.To[from:to], st.From[from:to])
	} else {
		s.combine(st.From[from:to], st.To[from:to])
	}
}

// risk is compute with an operator of the program, by a goroutine that has other
// things to do as well: a panic is the error of this call.
func (s *collective) risk(st *coll.Step, from, to int) {
	defer func() {
		if p := recover(); p != nil {
			s.err = s.c.fail(s.name, noValue, noValue, len(st.To), fmt.Errorf("%w: it panicked: %v", ErrOp, p), "")
		}
	}()
	s.compute(st, from, to)
}

// begin, advance, outcome and requests implement schedule.
func (s *collective) begin() {
	s.rewind()
	s.enter()
	s.c.turns.underWay++
	if s.line != nil {
		s.line.join(s)
	}
}

func (s *collective) advance() bool {
	if s.line != nil && s.line.head != s || !s.perform(false) {
		return false
	}
	if s.err == nil {
		s.leave()
	}
	if s.line != nil {
		s.line.leave(s.c.rank)
	}
	s.c.turns.underWay--
	return true
}

func (s *collective) requests() *variants.Batch { return &s.batch }

func (s *collective) outcome() (Status, error) {
	err := s.err
	if s.line != nil {
		s.c.rank.putCollective(s)
	}
	return emptyStatus, err
}
